//! One process with a replica, and its connection to the server.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bulklink_breaker::plumbing::Access;
use bulklink_breaker::{Circuit, Instant, Mark, Pass, ProbeId, Settings, State};
use bulklink_fleet::StoreError;
use bulklink_fleet::circuits::replica::{Answer, AskId, Pace, Replica, Verdicts, Work};
use bulklink_fleet::circuits::{Report, Row};

pub(crate) const PACE: Pace = Pace { flush: Duration::from_millis(100), refresh: Duration::from_secs(5) };

#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a note of its own on what has happened")]
pub(crate) struct Process {
    settings: Settings,
    pub(crate) circuit: Circuit,
    pub(crate) replica: Replica,
    pub(crate) is_up: bool,
    /// The command on its way to the server.
    pub(crate) up: Option<Work>,
    /// What comes back. Answers and notices do not wait for each other.
    pub(crate) answer: Option<Result<Answer, StoreError>>,
    pub(crate) notices: VecDeque<Row>,
    /// Calls that have not ended.
    pub(crate) calls: VecDeque<Pass>,
    pub(crate) asks: VecDeque<AskId>,
    cancelled: BTreeSet<AskId>,
    /// Outcomes that counted here and were in no report.
    unreported: u64,
    /// Those of them that counted since the latest row.
    in_row: u64,
    /// All outcomes that counted here while the circuit was closed.
    pub(crate) counted: u64,
    /// The latest generation of the server's that was received.
    seen: u64,
    /// The generation that the rows of notices must exceed.
    known: Option<u64>,
    /// The generation of the newest notice that waits for the answer to the command on its way.
    stored: Option<u64>,
    /// Whether a row was adopted.
    has_row: bool,
    /// Whether the server has gone back, and may repeat a generation.
    pub(crate) may_repeat: bool,
    local_probes: u64,
    /// Probes that have ended.
    pub(crate) ended: Vec<Pass>,
    /// The circuit was opened here by hand, and the server has not answered yet.
    is_forcing: bool,
    /// The circuit was changed here by hand, which is not on its way yet.
    has_change: bool,
    /// Whether the command on its way is a change by hand.
    sends_force: bool,
    /// Failures in a row since the last report.
    failures: u64,
    /// The circuit was opened by calls of this process, and no row has come since.
    has_tripped: bool,
}

impl Process {
    pub(crate) fn new(settings: Settings, now: Instant) -> Self {
        Process {
            settings,
            circuit: Circuit::new(settings).expect("the settings are possible"),
            replica: Replica::new(settings, PACE, now),
            is_up: false,
            up: None,
            answer: None,
            notices: VecDeque::new(),
            calls: VecDeque::new(),
            asks: VecDeque::new(),
            cancelled: BTreeSet::new(),
            unreported: 0,
            in_row: 0,
            counted: 0,
            seen: 0,
            known: None,
            stored: None,
            has_row: false,
            may_repeat: false,
            local_probes: 0,
            ended: vec![],
            is_forcing: false,
            has_change: false,
            sends_force: false,
            failures: 0,
            has_tripped: false,
        }
    }

    /// A call comes, and asks if it must.
    pub(crate) fn call(&mut self, now: Instant) {
        if self.circuit.check(now).is_err() {
            return;
        }
        match self.replica.access(&self.circuit, now) {
            Access::Full => {}
            Access::Ask => {
                assert!(self.replica.is_connected(), "only a store that is in reach is asked");
                let id = self.replica.ask();
                self.asks.push_back(id);
                assert!(self.asks.len() <= self.most(), "more calls ask than may probe");
            }
            Access::Local => {
                let is_half_open = self.circuit.view(now).state == State::HalfOpen;
                assert!(!is_half_open || !self.replica.is_connected(), "the server lets probes through");
                self.local_probes += 1;
                // Apart from the names of the server's probes.
                let admitted = self.circuit.admit(now, ProbeId(u64::MAX - self.local_probes));
                self.calls.extend(admitted.ok());
            }
        }
    }

    /// The oldest call ends.
    pub(crate) fn end(&mut self, now: Instant, outcome: Option<Mark>) {
        let Some(pass) = self.calls.pop_front() else { return };
        let was_closed = self.circuit.view(now).state == State::Closed;
        let settled = self.replica.settle(&mut self.circuit, now, pass, outcome);
        self.ended.extend(pass.probe.map(|_| pass));
        if settled.counted && pass.probe.is_none() && outcome.is_some() {
            self.unreported += 1;
            self.in_row += 1;
            self.counted += 1;
            self.failures = if outcome.is_some_and(|mark| mark.failed) { self.failures + 1 } else { 0 };
        }
        let is_closed = self.circuit.view(now).state == State::Closed;
        if settled.counted && pass.probe.is_none() && outcome.is_some() && is_closed {
            let next = self.replica.clone().settle(&mut self.circuit.clone(), now, pass, Some(Mark::default()));
            assert!(!next.has_work, "another outcome for the same report changes nothing");
        }
        if was_closed && self.circuit.view(now).state == State::Open {
            self.has_tripped = true;
            let is_free = self.is_up && self.up.is_none() && self.answer.is_none() && self.replica.is_connected();
            let next = self.replica.clone().next_work(&self.circuit, now);
            assert!(settled.has_work && (!is_free || next.is_some()), "a trip is not reported immediately");
        }
    }

    /// The oldest call that asks is dropped.
    pub(crate) fn cancel(&mut self) {
        let Some(id) = self.asks.pop_front() else { return };
        self.cancelled.insert(id);
        self.replica.cancel(id);
    }

    pub(crate) fn force(&mut self, is_open: bool) {
        if is_open {
            self.circuit.force_open();
        } else {
            self.circuit.force_closed();
        }
        self.replica.force(is_open);
        (self.is_forcing, self.has_change, self.has_tripped, self.failures) = (is_open, true, false, 0);
    }

    /// The next command begins its way.
    pub(crate) fn send(&mut self, now: Instant) -> bool {
        if !self.is_up {
            return false;
        }
        let is_free = self.up.is_none() && self.answer.is_none();
        let work = self.replica.next_work(&self.circuit, now);
        assert!(work.is_none() || is_free, "{work:?} is sent before the answer to another command");
        if let Some(Work::Report(Report::Closed { outcomes, .. })) = &work {
            // Those since a change by hand count after it, and in no earlier row.
            let most = if self.has_change { self.in_row } else { self.unreported };
            assert!(outcomes.counts().calls <= most, "an outcome is reported twice, or in a later row");
            (self.unreported, self.in_row, self.failures) = (0, 0, 0);
        }
        if let Some(work) = &work {
            self.sends_force = matches!(work, Work::Force(_));
            self.has_change &= !self.sends_force;
        }
        if work.is_none() {
            let due = self.replica.next_due();
            assert_eq!(due.is_none(), !is_free, "there is a time, unless a command is under way");
            assert!(due.is_none_or(|at| at > now), "a command is due that does not come");
        }
        self.up = self.up.take().or(work);
        self.up.is_some() && is_free
    }

    pub(crate) fn receive_answer(&mut self, now: Instant) -> bool {
        let Some(answer) = self.answer.take() else { return false };
        let (mut must_stay, mut before, mut is_half_open) = (false, None, false);
        if let Ok(Answer { row, .. }) = &answer {
            // The trip is still to be reported.
            let generation = if self.sends_force { self.seen } else { row.generation };
            let is_latest = self.stored.is_none_or(|stored| stored <= row.generation);
            if is_latest && !self.may_repeat {
                let is_known = row.generation == self.seen && self.replica.is_connected();
                let states = [self.circuit.view(now).state, self.circuit.phase_state()];
                before = (is_known && states == [row.state; 2]).then(|| self.circuit.clone());
                is_half_open = row.state == State::HalfOpen && !self.has_change;
            }
            must_stay = row.state == State::Closed && is_latest && self.must_open(now, generation);
            if row.generation != self.seen {
                self.forget_outcomes();
            }
            (self.seen, self.known, self.has_row) = (row.generation, Some(row.generation), true);
            self.is_forcing &= !self.sends_force;
        } else {
            self.lose_force();
        }
        self.sends_force = false;
        self.take_stored(now);
        let verdicts = self.replica.answered(&mut self.circuit, now, answer);
        let is_open = self.circuit.view(now).state == State::Open;
        assert!(!must_stay || is_open, "a trip is overwritten before it is reported");
        assert!(!is_half_open || !is_open, "a cool-down that is over on the server goes on");
        if let Some(before) = before {
            assert_eq!(self.circuit.generation(), before.generation(), "a row that is known begins anew");
            let is_longer = self.circuit.view(now).retry_at > before.view(now).retry_at;
            assert!(!is_longer, "an answer that comes late makes a cool-down longer");
        }
        self.has_tripped &= must_stay;
        self.check_forced(now);
        self.take(now, verdicts);
        true
    }

    /// Notices are adopted after the answer.
    fn take_stored(&mut self, now: Instant) {
        if !self.replica.is_connected() && self.circuit.view(now).state != State::Open {
            // They may be too old to be reported.
            self.failures = 0;
        }
        if let Some(stored) = self.stored.take() {
            self.seen = self.seen.max(stored);
            self.known = self.known.max(Some(stored));
        }
    }

    /// The answer to the command on its way is lost.
    fn lose_force(&mut self) {
        self.has_change |= self.sends_force;
    }

    /// Outcomes of an earlier generation are never reported.
    fn forget_outcomes(&mut self) {
        if self.has_row && !self.may_repeat {
            self.in_row = 0;
            if !self.has_change && !self.sends_force {
                self.unreported = 0;
            }
        }
    }

    /// Until the server has a change by hand, its rows do not matter.
    fn check_forced(&self, now: Instant) {
        assert!(!self.is_forcing || self.circuit.view(now).is_forced, "a change by hand is overwritten");
    }

    pub(crate) fn receive_notice(&mut self, now: Instant) -> bool {
        let Some(row) = self.notices.pop_front() else { return false };
        let is_old = self.known.is_some_and(|known| row.generation <= known) && self.replica.is_connected();
        if !is_old {
            self.forget_outcomes();
        }
        self.stored = self.stored.max(Some(row.generation));
        if self.up.is_none() && self.answer.is_none() {
            self.has_row = true;
            self.take_stored(now);
        }
        let before = self.circuit.clone();
        self.replica.notice(&mut self.circuit, now, &row);
        assert!(!is_old || self.circuit == before, "a notice is adopted after a newer row");
        self.has_tripped &= self.circuit == before;
        self.check_forced(now);
        true
    }

    /// Whether the server must open its circuit too, when it hears of the calls of this process.
    pub(crate) fn must_open(&self, now: Instant, server: u64) -> bool {
        let is_open = self.circuit.view(now).state == State::Open;
        self.has_tripped && self.failures >= 2 && self.seen == server && is_open
    }

    /// The connection ends. Returns the command that may still arrive.
    pub(crate) fn cut(&mut self, now: Instant) -> Option<Work> {
        if !self.is_up {
            return None;
        }
        self.is_up = false;
        let verdicts = self.replica.lose(now, &StoreError::UNREACHABLE);
        self.take(now, verdicts);
        let late = self.up.take();
        if late.is_some() || self.answer.take().is_some() {
            self.lose_force();
            self.sends_force = false;
            self.take_stored(now);
            let before = self.circuit.clone();
            let verdicts = self.replica.answered(&mut self.circuit, now, Err(StoreError::UNREACHABLE));
            // The notice that has waited may have opened the circuit for another reason.
            self.has_tripped &= self.circuit == before;
            self.take(now, verdicts);
        }
        self.notices.clear();
        let verdicts = self.replica.lose(now, &StoreError::UNREACHABLE);
        self.take(now, verdicts);
        assert!(!self.replica.is_connected() && self.asks.is_empty(), "a call waits for a server that is lost");
        late
    }

    pub(crate) fn connect(&mut self) {
        if !self.is_up {
            self.is_up = true;
            self.replica.retry();
        }
    }

    /// Returns how many probes have a place here as far as this process knows.
    pub(crate) fn known_probes(&self, now: Instant, leases: impl Fn(Pass) -> bool) -> usize {
        let own = self.circuit.view(now).probes;
        own + self.calls.iter().filter(|pass| pass.generation == self.seen && leases(**pass)).count()
    }

    pub(crate) fn most(&self) -> usize {
        self.settings.parts().probes as usize
    }

    fn take(&mut self, now: Instant, verdicts: Verdicts) {
        for (id, verdict) in verdicts {
            assert!(!self.cancelled.contains(&id), "a call that was dropped is answered");
            let place = self.asks.iter().position(|ask| *ask == id);
            self.asks.remove(place.expect("a call is answered twice"));
            match verdict {
                Some(Ok(pass)) => {
                    assert!(pass.probe.is_some());
                    self.calls.push_back(pass);
                }
                Some(Err(refusal)) => assert_ne!(refusal.state, State::Closed),
                // It goes by the circuit here.
                None => self.call_alone(now),
            }
        }
    }

    /// A call that the store has not decided on does not ask again.
    fn call_alone(&mut self, now: Instant) {
        if self.circuit.check(now).is_ok() && self.replica.access(&self.circuit, now) == Access::Local {
            self.call(now);
        }
    }
}
