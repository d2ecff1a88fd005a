//! The promises of a store, step by step, in virtual time.

use std::time::Duration;

use bulklink_breaker::{Counts, Mark, Pass, ProbeId, Settings, State};
use bulklink_fleet::circuits::{Asked, CircuitStore, Force, Forced, Refused, Report, Row};
use bulklink_fleet::{Name, Namespace};

use crate::subject::{PATIENCE, Subject, listen, name, namespace, outcomes};

const SECOND: u64 = 1_000_000;

/// When the tests begin.
const START: u64 = 1_000 * SECOND;

const GOOD: Option<Mark> = Some(Mark { failed: false, slow: false });

const BAD: Option<Mark> = Some(Mark { failed: true, slow: false });

/// Two failures in a row open it for ten seconds; two of at most three probes must succeed.
fn settings() -> Settings {
    let settings = Settings::consecutive(2).cool_down(Duration::from_secs(10));
    settings.probes(3).close_after(2).reopen_after(2).probe_lease(Duration::from_secs(5))
}

/// A circuit of one process.
struct Client<'a, S: Subject> {
    subject: &'a S,
    store: S::Store,
    name: Name,
    settings: Settings,
}

impl<'a, S: Subject> Client<'a, S> {
    fn new(subject: &'a S, settings: Settings) -> Self {
        subject.set_now(START);
        Client { subject, store: subject.store(), name: name("payments"), settings }
    }

    fn load(&self) -> Row {
        self.subject.block_on(self.store.load(&self.name, &self.settings)).expect("the server runs")
    }

    fn ask(&self, id: u64) -> Asked {
        let asked = self.store.admit_probe(&self.name, &self.settings, ProbeId(id));
        self.subject.block_on(asked).expect("the server runs")
    }

    /// Returns whether the outcomes counted.
    fn report(&self, generation: u64, marks: &str) -> bool {
        let report = Report::Closed { generation, outcomes: outcomes(&self.settings, marks) };
        let reported = self.store.report(&self.name, &self.settings, &report);
        self.subject.block_on(reported).expect("the server runs").counted
    }

    /// Returns whether the outcome counted.
    fn settle(&self, generation: u64, id: u64, outcome: Option<Mark>) -> bool {
        let report = Report::Probe { generation, id: ProbeId(id), outcome };
        let reported = self.store.report(&self.name, &self.settings, &report);
        self.subject.block_on(reported).expect("the server runs").counted
    }

    fn force(&self, expected: Option<u64>, force: Force) -> Forced {
        self.subject.block_on(self.store.force(&self.name, expected, force)).expect("the server runs")
    }

    /// Opens the circuit by two failures, and lets the cool-down pass. Returns its generation.
    fn cooled_down(&self) -> u64 {
        let generation = self.load().generation;
        assert!(self.report(generation, "ff"));
        assert_eq!(self.load().state, State::Open);
        self.subject.set_now(START + 10 * SECOND);
        generation + 2
    }
}

#[expect(clippy::unnecessary_wraps, reason = "all that is compared is optional")]
fn seconds(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

/// A closed row without outcomes; two rows of two names differ in their generation only.
pub fn a_new_row_is_closed_in_a_generation_of_its_own<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let row = client.load();
    assert_eq!((row.state, row.generation, row.counts), (State::Closed, START, Counts::default()));
    assert_eq!((row.retry_after, row.is_forced, row.probes, row.settings_differ), (None, false, 0, false));
    subject.set_now(START + 7);
    assert_eq!(client.load(), row);
    assert_eq!(client.ask(1).admission, Ok(Pass::new(START, None)));
    let other = Client { name: name("other"), ..Client::new(subject, settings()) };
    subject.set_now(START + 9);
    assert!(!other.report(START, "ff"));
    let mut expected = row;
    expected.generation = START + 9;
    assert_eq!(other.load(), expected);
}

/// The outcomes of two processes are in one window.
pub fn failures_of_all_processes_open_the_circuit<S: Subject>(subject: &S) {
    let [first, second] = [(); 2].map(|()| Client::new(subject, settings()));
    let generation = first.load().generation;
    assert!(first.report(generation, "ff.f"));
    assert_eq!(second.load().counts, Counts { calls: 2, failures: 1, slow: 0 });
    assert!(second.report(generation, "f"));
    subject.set_now(START + 4 * SECOND);
    let row = first.load();
    assert_eq!((row.state, row.retry_after, row.is_forced), (State::Open, seconds(6), false));
    assert_eq!((row.generation, row.counts), (generation + 1, Counts::default()));
    let refused = Refused { state: State::Open, retry_after: seconds(6) };
    let asked = second.ask(1);
    assert_eq!((asked.admission, asked.row), (Err(refused), row));
}

/// What ended in an older generation changes nothing.
pub fn an_outcome_from_before_a_transition_does_not_count<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let generation = client.load().generation;
    client.report(generation, "ff");
    assert!(!client.report(generation, "."));
    assert!(!client.report(generation + 1, "."), "an open circuit");
    client.force(None, Force::Closed);
    assert!(!client.report(generation, "ff"));
    assert!(!client.settle(generation + 2, 1, BAD), "no probe");
    assert_eq!(client.load().counts, Counts::default());
    assert!(client.report(generation + 2, "s"));
    assert_eq!(client.load().counts, Counts { calls: 1, failures: 0, slow: 1 });
}

/// Probes of all processes share the places; their outcomes close the circuit.
pub fn as_many_probes_run_as_may<S: Subject>(subject: &S) {
    let [first, second] = [(); 2].map(|()| Client::new(subject, settings()));
    let generation = first.cooled_down();
    assert_eq!(second.load().state, State::HalfOpen, "without any call");
    assert_eq!(second.load().generation, generation - 1, "it is told by the first call");
    for (client, id) in [(&first, 1), (&second, u64::MAX), (&first, 3)] {
        assert_eq!(client.ask(id).admission, Ok(Pass::new(generation, Some(ProbeId(id)))));
        subject.set_now(START + 11 * SECOND);
    }
    let asked = second.ask(4);
    assert_eq!(asked.admission, Err(Refused { state: State::HalfOpen, retry_after: seconds(4) }));
    assert_eq!((asked.row.state, asked.row.generation, asked.row.probes), (State::HalfOpen, generation, 3));
    assert!(second.settle(generation, u64::MAX, GOOD));
    assert!(first.settle(generation, 1, None));
    let row = first.load();
    assert_eq!((row.probe_successes, row.probe_failures, row.probes), (1, 0, 1));
    assert!(first.settle(generation, 3, GOOD));
    let row = first.load();
    assert_eq!((row.state, row.generation, row.probe_successes), (State::Closed, generation + 1, 0));
}

/// Repeated requests and repeated outcomes.
pub fn a_probe_counts_once_and_may_be_asked_for_again<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings().probes(1));
    let generation = client.cooled_down();
    let asked = client.ask(1);
    assert_eq!(client.ask(1), asked);
    assert!(client.ask(2).admission.is_err());
    assert!(!client.settle(generation, 2, GOOD));
    assert!(client.settle(generation, 1, BAD));
    assert!(!client.settle(generation, 1, BAD));
    assert_eq!(client.load().probe_failures, 1);
    assert!(client.ask(2).admission.is_ok());
}

/// A probe that does not end gives its place up, to the next call, when its lease has passed.
pub fn a_dead_prober_frees_its_place<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings().probes(1));
    let generation = client.cooled_down();
    client.ask(1).admission.unwrap();
    subject.set_now(START + 15 * SECOND - 1);
    assert!(client.ask(2).admission.is_err());
    subject.set_now(START + 15 * SECOND);
    assert_eq!(client.load().probes, 0);
    assert!(client.settle(generation, 1, None), "no other has its place yet");
    client.ask(2).admission.unwrap();
    subject.set_now(START + 20 * SECOND);
    client.ask(3).admission.unwrap();
    assert!(!client.settle(generation, 2, GOOD));
    assert!(client.settle(generation, 3, GOOD));
}

/// Up to the longest one. Closing begins anew.
pub fn each_failure_of_the_probes_doubles_the_cool_down<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings().reopen_after(1).longest_cool_down(Duration::from_secs(35)));
    let mut generation = client.cooled_down();
    let mut now = START + 10 * SECOND;
    for wait in [20, 35, 35] {
        client.ask(1).admission.unwrap();
        assert!(client.settle(generation, 1, BAD));
        let row = client.load();
        assert_eq!((row.state, row.generation, row.retry_after), (State::Open, generation + 1, seconds(wait)));
        now += wait * SECOND;
        subject.set_now(now);
        generation += 2;
    }
    for id in [1, 2] {
        client.ask(id).admission.unwrap();
        client.settle(generation, id, GOOD);
    }
    client.report(generation + 1, "ff");
    assert_eq!(client.load().retry_after, seconds(10));
}

/// With another generation, nothing changes.
pub fn a_circuit_is_forced_if_its_generation_is_the_expected_one<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let Forced::Stale(fresh) = client.force(Some(1), Force::Open) else { panic!("it is new") };
    assert_eq!((fresh.state, fresh.generation), (State::Closed, START));
    assert_eq!(client.load(), fresh);
    let Forced::Done(open) = client.force(Some(START), Force::Open) else { panic!("it is expected") };
    let mut expected = fresh;
    (expected.state, expected.generation, expected.is_forced) = (State::Open, START + 1, true);
    assert_eq!(open, expected);
    subject.set_now(START + 1_000_000 * SECOND);
    assert_eq!(client.load(), expected, "until it is closed by hand");
    assert_eq!(client.ask(1).admission, Err(Refused { state: State::Open, retry_after: None }));
    assert_eq!(client.force(Some(START), Force::Closed), Forced::Stale(expected));
    let mut closed = fresh;
    closed.generation = START + 2;
    assert_eq!(client.force(Some(START + 1), Force::Closed), Forced::Done(closed));
    assert_eq!(client.load(), closed);
}

/// In order, and to its own namespace only.
pub fn each_transition_is_told_with_its_row<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let changes = listen(subject);
    let foreign = Name::new(&Namespace::new("test.x").unwrap(), "payments").unwrap();
    subject.block_on(client.store.force(&foreign, None, Force::Open)).unwrap();
    let generation = client.cooled_down();
    client.ask(1).admission.unwrap();
    client.ask(2).admission.unwrap();
    for id in [1, 2] {
        client.settle(generation, id, GOOD);
    }
    client.force(None, Force::Open);
    let expected = [
        (State::Open, seconds(10), 0, false),
        (State::HalfOpen, None, 1, false),
        (State::Closed, None, 0, false),
        (State::Open, None, 0, true),
    ];
    for (generation, expected) in (generation - 1..).zip(expected) {
        let change = changes.recv_timeout(PATIENCE).expect("it is told");
        assert_eq!((&change.name, change.row.generation), (&client.name, generation));
        let Row { state, retry_after, probes, is_forced, .. } = change.row;
        assert_eq!((state, retry_after, probes, is_forced), expected);
    }
    assert!(changes.try_recv().is_err());
}

/// In tenths.
pub fn a_window_of_time_forgets<S: Subject>(subject: &S) {
    let client = Client::new(subject, Settings::over(Duration::from_secs(10)).failures(4));
    let generation = client.load().generation;
    for (at, marks, calls) in [(0, "ff", 2), (5, "f..", 5), (9, "", 5), (10, ".", 4), (14, "", 4), (15, "", 1)] {
        subject.set_now(START + at * SECOND);
        assert!(client.report(generation, marks));
        assert_eq!(client.load().counts.calls, calls, "after {at} s");
    }
    subject.set_now(START + 19 * SECOND);
    client.report(generation, "fff");
    assert_eq!(client.load().counts, Counts { calls: 4, failures: 3, slow: 0 });
    client.report(generation, "f");
    assert_eq!(client.load().state, State::Open);
}

/// By each process, at its next operation after the other's; and in lists, for a minute.
pub fn other_settings_are_seen<S: Subject>(subject: &S) {
    let first = Client::new(subject, Settings::of_last(5).failures(5));
    let second = Client::new(subject, Settings::of_last(3).failures(3));
    let generation = first.load().generation;
    first.report(generation, ".f.ff");
    assert!(!first.load().settings_differ);
    let listed = |at| {
        subject.set_now(START + at);
        let list = subject.block_on(first.store.list(&namespace())).expect("the server runs");
        list[0].1.settings_differ
    };
    assert!(!listed(0));
    let row = second.load();
    second.force(None, Force::Closed);
    let generation = generation + 1;
    assert_eq!([0, 60 * SECOND - 1, 60 * SECOND].map(listed), [true, true, false]);
    subject.set_now(START);
    assert_eq!((row.settings_differ, row.counts.calls, row.counts.failures), (true, 3, 2));
    assert!(!second.load().settings_differ);
    assert!(first.load().settings_differ);
    let third = Client::new(subject, Settings::over(Duration::from_secs(1)).failures(3));
    assert_eq!(third.load().counts.calls, 0);
    // A number that no server computes with is a difference too.
    let slow = |seconds| Settings::of_last(5).slow_calls(Duration::from_secs(seconds), 1);
    let [fourth, fifth] = [1, 2].map(|seconds| Client::new(subject, slow(seconds)));
    assert_eq!([fourth.load().settings_differ, fifth.load().settings_differ], [true; 2]);
    assert!(!fifth.report(generation + 1, "ssss"));
    assert!(fifth.report(generation, "...s"));
    assert_eq!(fifth.load().state, State::Open);
}

/// By fewer probes, no other is let through until fewer have a lease. A bound that the numbers have
/// reached already is decided by the next outcome that counts.
pub fn fewer_probes_run_after_a_change_of_settings<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let generation = client.cooled_down();
    for (id, wait) in [(3, 11), (1, 12), (2, 13)] {
        client.ask(id).admission.unwrap();
        subject.set_now(START + wait * SECOND);
    }
    assert!(client.settle(generation, 3, BAD));
    client.ask(4).admission.unwrap();
    let fewer = Client { settings: settings().probes(1).reopen_after(1), ..Client::new(subject, settings()) };
    for (now, rest) in [(14, 4), (16, 2), (18, 0)] {
        subject.set_now(START + now * SECOND);
        let expected = if rest == 0 {
            Ok(Pass::new(generation, Some(ProbeId(5))))
        } else {
            Err(Refused { state: State::HalfOpen, retry_after: seconds(rest) })
        };
        assert_eq!(fewer.ask(5).admission, expected, "after {now} s");
    }
    assert!(fewer.settle(generation, 4, None));
    assert_eq!(fewer.load().state, State::HalfOpen, "an outcome that counts for neither side");
    assert!(fewer.settle(generation, 5, GOOD));
    assert_eq!(fewer.load().state, State::Open);
}

/// The time of a forgotten lease does not matter.
pub fn a_window_that_was_emptied_follows_a_clock_that_is_set_back<S: Subject>(subject: &S) {
    let client = Client::new(subject, Settings::over(Duration::from_secs(10)).failures(2));
    let generation = client.load().generation;
    for (transitions, marks) in [(1, "."), (2, "ff")] {
        subject.set_now(START + 5 * SECOND);
        client.report(generation + transitions - 1, marks);
        client.force(None, Force::Closed);
        let generation = client.load().generation;
        subject.set_now(START);
        assert!(client.report(generation, "."));
        for (at, calls) in [(9, 1), (10, 0)] {
            subject.set_now(START + at * SECOND);
            assert_eq!(client.load().counts.calls, calls, "after {at} s");
        }
    }
}

/// A cool-down that has begun takes no longer than if it began now.
pub fn a_clock_that_is_set_back_holds_up_no_call_for_longer_than_usual<S: Subject>(subject: &S) {
    let before = |time: u64| subject.set_now(START - time * SECOND);
    let client = Client::new(subject, settings());
    let generation = client.load().generation;
    assert!(client.report(generation, "ff"));
    before(300);
    assert_eq!(client.load().retry_after, seconds(10));
    before(296);
    assert_eq!(client.ask(1).admission, Err(Refused { state: State::Open, retry_after: seconds(6) }));
    before(290);
    for id in 1..=3 {
        client.ask(id).admission.unwrap();
    }
    before(600);
    assert_eq!(client.ask(4).admission, Err(Refused { state: State::HalfOpen, retry_after: seconds(5) }));
    before(595);
    client.ask(4).admission.unwrap();
    // Failures of a time that is still to come are none of the window's.
    let client = Client::new(subject, Settings::over(Duration::from_secs(10)).failures(3));
    client.force(None, Force::Closed);
    let generation = client.load().generation;
    client.report(generation, "ff");
    before(300);
    assert!(client.report(generation, "f"));
    assert_eq!((client.load().state, client.load().counts.failures), (State::Closed, 1));
}

/// So what ran before counts no more.
pub fn a_row_that_was_lost_repeats_no_generation<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let generation = client.cooled_down();
    client.ask(1).admission.unwrap();
    subject.lose(&client.name);
    assert!(!client.settle(generation, 1, BAD));
    let row = client.load();
    assert_eq!((row.state, row.generation), (State::Closed, START + 10 * SECOND));
}

/// Also in lists.
pub fn a_name_may_be_any_text<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let names =
        [" a b ", "a:b", "{a}*?[", "'; DROP TABLE x; --", "\u{1f980} %", "a\u{0}\n", &"x".repeat(200)].map(name);
    for name in &names {
        subject.block_on(client.store.force(name, None, Force::Open)).unwrap();
        let row = subject.block_on(client.store.load(name, &client.settings)).unwrap();
        assert!(row.is_forced && row.generation == START + 1, "{name}: {row:?}");
    }
    let list = subject.block_on(client.store.list(&namespace())).unwrap();
    let mut sorted = names.to_vec();
    sorted.sort();
    assert_eq!(list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), sorted);
    assert!(list.iter().all(|(_, row)| row.is_forced && !row.settings_differ));
    let other = Namespace::new("tes").unwrap();
    assert_eq!(subject.block_on(client.store.list(&other)).unwrap(), []);
}

/// Without any effect.
pub fn impossible_settings_are_refused<S: Subject>(subject: &S) {
    let client = Client::new(subject, Settings::of_last(0));
    assert!(subject.block_on(client.store.load(&client.name, &client.settings)).is_err());
    assert_eq!(subject.block_on(client.store.list(&namespace())).unwrap(), []);
}

/// Nothing is done, and the row is shown: also by a command without settings.
pub fn a_refused_change_by_hand_follows_the_clock_too<S: Subject>(subject: &S) {
    let client = Client::new(subject, settings());
    let generation = client.load().generation;
    assert!(client.report(generation, "ff"));
    subject.set_now(START - 300 * SECOND);
    let Forced::Stale(row) = client.force(Some(1), Force::Closed) else { panic!("it is stale") };
    assert_eq!(row.retry_after, seconds(10));
    client.force(None, Force::Open);
    subject.set_now(START - 900 * SECOND);
    assert_eq!((client.load().retry_after, client.load().is_forced), (None, true), "by hand it has no end");
}
