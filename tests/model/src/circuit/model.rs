//! The reference model of a circuit, written to be read.
//!
//! It keeps its whole history, and computes everything from it again each time.

use std::time::Duration;

use bulklink_breaker::{Mark, ProbeId, Settings, State};

/// A point in time or a duration, in nanoseconds.
pub type Time = u64;

/// The calls that are looked at.
#[derive(Clone, Copy, Debug)]
pub enum Span {
    /// The last calls, as many as this.
    Calls(usize),
    /// The calls that ended within this time.
    Time(Time),
}

/// How many calls are too many.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// As many as this.
    Calls(u32),
    /// This part of all.
    Percent(u32),
}

/// The settings, as the model reads them.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The calls that are looked at.
    pub span: Span,
    /// How many failures open the circuit.
    pub failures: Option<Limit>,
    /// How many slow calls open it.
    pub slow: Option<Limit>,
    /// How many calls are needed for that.
    pub min_calls: Option<u32>,
    /// How long it stays open.
    pub cool_down: Time,
    /// How far the cool-down is doubled.
    pub longest: Option<Time>,
    /// How many probes run at once.
    pub probes: usize,
    /// How many successes of probes close it.
    pub close_after: usize,
    /// How many failures of probes open it again.
    pub reopen_after: usize,
    /// After this time a probe can be replaced.
    pub lease: Time,
}

impl Setup {
    /// Returns the same for the circuit.
    pub(super) fn settings(&self) -> Settings {
        let count = |number: usize| u32::try_from(number).expect("a small number");
        let after = Duration::from_secs(1);
        let mut settings = match self.span {
            Span::Calls(calls) => Settings::of_last(count(calls)),
            Span::Time(time) => Settings::over(Duration::from_nanos(time)),
        };
        settings = match self.failures {
            Some(Limit::Calls(calls)) => settings.failures(calls),
            Some(Limit::Percent(percent)) => settings.failure_rate(percent),
            None => settings,
        };
        settings = match self.slow {
            Some(Limit::Calls(calls)) => settings.slow_calls(after, calls),
            Some(Limit::Percent(percent)) => settings.slow_rate(after, percent),
            None => settings,
        };
        if let Some(calls) = self.min_calls {
            settings = settings.min_calls(calls);
        }
        if let Some(longest) = self.longest {
            settings = settings.longest_cool_down(Duration::from_nanos(longest));
        }
        settings
            .cool_down(Duration::from_nanos(self.cool_down))
            .probes(count(self.probes))
            .close_after(count(self.close_after))
            .reopen_after(count(self.reopen_after))
            .probe_lease(Duration::from_nanos(self.lease))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Too many calls have failed or were slow.
    Calls,
    /// Too many probes have.
    Probes,
    ByHand,
}

#[derive(Clone, Debug)]
enum Past {
    Opened {
        why: Why,
        /// `None` if it was opened by hand.
        until: Option<Time>,
    },
    HalfOpened,
    Closed,
    /// The settings were changed to these.
    Changed(Setup),
    /// Calls ended while the circuit was closed.
    Ended {
        at: Time,
        marks: Vec<Mark>,
    },
    /// A probe was let through.
    Probe {
        id: ProbeId,
        until: Time,
    },
    /// A probe ended. `None` counts for neither side.
    ProbeEnded {
        id: ProbeId,
        outcome: Option<Mark>,
    },
    /// Another probe took its place.
    Replaced {
        id: ProbeId,
    },
    /// From here on, a cool-down that has begun ends no later than this.
    Latest(Time),
}

/// The model of a circuit.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// The first settings.
    setup: Setup,
    history: Vec<Past>,
}

impl Model {
    pub fn new(setup: Setup) -> Self {
        Model { setup, history: vec![] }
    }

    /// The settings now.
    pub fn setup(&self) -> Setup {
        self.setup_after(self.history.len())
    }

    /// The settings after so many entries of the history.
    fn setup_after(&self, entries: usize) -> Setup {
        let change = self.history[..entries].iter().rev().find_map(|past| match past {
            Past::Changed(setup) => Some(*setup),
            _ => None,
        });
        change.unwrap_or(self.setup)
    }

    pub fn change(&mut self, setup: Setup) {
        self.history.push(Past::Changed(setup));
    }

    /// The number of transitions.
    pub fn generation(&self) -> u64 {
        self.history.iter().filter(|past| is_transition(past)).count() as u64
    }

    /// The state after the last transition, whatever the time.
    fn phase(&self) -> State {
        match self.history.iter().rfind(|past| is_transition(past)) {
            None | Some(Past::Closed) => State::Closed,
            Some(Past::Opened { .. }) => State::Open,
            _ => State::HalfOpen,
        }
    }

    /// The counts since the last transition.
    fn recent(&self) -> &[Past] {
        &self.history[self.entries_to_last_transition()..]
    }

    fn entries_to_last_transition(&self) -> usize {
        self.history.iter().rposition(is_transition).map_or(0, |last| last + 1)
    }

    pub fn state(&self, now: Time) -> State {
        let is_over = self.open_until().is_some_and(|until| until <= now);
        if is_over { State::HalfOpen } else { self.phase() }
    }

    /// The end of the cool-down, if the circuit has opened by itself.
    pub fn open_until(&self) -> Option<Time> {
        match self.history.iter().rfind(|past| is_transition(past)) {
            Some(Past::Opened { until, .. }) => until.map(|until| self.latest().fold(until, Time::min)),
            _ => None,
        }
    }

    fn latest(&self) -> impl Iterator<Item = Time> + '_ {
        self.recent().iter().filter_map(|past| match past {
            Past::Latest(latest) => Some(*latest),
            _ => None,
        })
    }

    /// Nothing that has begun takes longer than if it began now.
    pub fn follow(&mut self, now: Time) {
        let (ends, time) = match self.phase() {
            State::Open => (self.open_until().into_iter().collect(), self.cool_down_after(self.reopened())),
            _ => (self.running().into_iter().map(|probe| probe.1).collect::<Vec<_>>(), self.setup().lease),
        };
        let latest = now.saturating_add(time);
        if ends.into_iter().any(|end| end > latest) {
            self.history.push(Past::Latest(latest));
        }
    }

    pub fn is_forced(&self) -> bool {
        self.phase() == State::Open && self.open_until().is_none()
    }

    /// The circuit opens by itself.
    fn open(&mut self, at: Time, why: Why) {
        let reopened = self.reopened() + usize::from(why == Why::Probes);
        let until = Some(at.saturating_add(self.cool_down_after(reopened)));
        self.history.push(Past::Opened { why, until });
    }

    /// How often the probes have failed since the first trip.
    fn reopened(&self) -> usize {
        let transitions = self.history.iter().filter(|past| is_transition(past)).rev();
        let episode =
            transitions.take_while(|past| matches!(past, Past::HalfOpened | Past::Opened { why: Why::Probes, .. }));
        episode.filter(|past| matches!(past, Past::Opened { .. })).count()
    }

    /// The cool-down, doubled for each time that the probes have failed.
    fn cool_down_after(&self, failures: usize) -> Time {
        let setup = self.setup();
        let Some(longest) = setup.longest else { return setup.cool_down };
        (0..failures).fold(setup.cool_down, |time, _| time.saturating_mul(2).min(longest)).min(longest)
    }

    /// The outcomes that a closed circuit looks at.
    pub fn window(&self, now: Time) -> Vec<Mark> {
        if self.phase() != State::Closed {
            return vec![];
        }
        let ended = self.ended();
        match self.setup().span {
            Span::Calls(calls) => last(calls, &ended).into_iter().flat_map(|(_, marks)| marks).collect(),
            Span::Time(time) => of_the_last(part(time), now, &ended),
        }
    }

    /// The outcomes since the last transition that the changes of settings have kept, with their
    /// times.
    ///
    /// A window of calls keeps as many of the last ones as it had and has then; one of time keeps
    /// all or, if its parts become longer or shorter, none.
    fn ended(&self) -> Vec<(Time, Vec<Mark>)> {
        let mut kept = vec![];
        let mut span = self.setup_after(self.entries_to_last_transition()).span;
        for past in self.recent() {
            match past {
                Past::Ended { at, marks } => kept.push((*at, marks.clone())),
                Past::Changed(setup) => {
                    kept = match (span, setup.span) {
                        (Span::Calls(had), Span::Calls(has)) => last(had.min(has), &kept),
                        (Span::Time(had), Span::Time(has)) if part(had) == part(has) => kept,
                        _ => vec![],
                    };
                    span = setup.span;
                }
                _ => {}
            }
        }
        kept
    }

    /// The probes that have not ended and have not been replaced, with the ends of their leases.
    pub fn running(&self) -> Vec<(ProbeId, Time)> {
        let mut running = vec![];
        for past in self.recent() {
            match past {
                Past::Probe { id, until } => running.push((*id, *until)),
                Past::ProbeEnded { id, .. } | Past::Replaced { id } => running.retain(|probe| probe.0 != *id),
                Past::Latest(latest) => running.iter_mut().for_each(|probe| probe.1 = probe.1.min(*latest)),
                _ => {}
            }
        }
        running
    }

    /// How many probes have succeeded, and how many have failed or were slow.
    pub fn probe_outcomes(&self) -> (usize, usize) {
        let outcomes = self.recent().iter().filter_map(|past| match past {
            Past::ProbeEnded { outcome, .. } => *outcome,
            _ => None,
        });
        let (bad, good): (Vec<_>, Vec<_>) = outcomes.partition(|mark| mark.failed || mark.slow);
        (good.len(), bad.len())
    }

    /// Lets a call through, as a probe or not, or returns the state in which it is refused and
    /// until when.
    pub fn admit(&mut self, now: Time, id: ProbeId) -> Result<Option<ProbeId>, (State, Option<Time>)> {
        if self.phase() == State::Open {
            if self.state(now) == State::Open {
                return Err((State::Open, self.open_until()));
            }
            self.history.push(Past::HalfOpened);
        }
        if self.phase() == State::Closed {
            return Ok(None);
        }
        let mut running = self.running();
        if running.iter().any(|probe| probe.0 == id) {
            return Ok(Some(id));
        }
        if let Some(too_many) = running.len().checked_sub(self.setup().probes) {
            // After the settings were changed, more may run than may now.
            running.sort_by_key(|probe| (probe.1, probe.0));
            let first_free = running[too_many].1;
            if first_free > now {
                return Err((State::HalfOpen, Some(first_free)));
            }
            self.history.push(Past::Replaced { id: running[0].0 });
        }
        self.history.push(Past::Probe { id, until: now.saturating_add(self.setup().lease) });
        Ok(Some(id))
    }

    /// Counts an outcome, and returns whether it could count.
    pub fn settle(&mut self, now: Time, generation: u64, probe: Option<ProbeId>, outcome: Option<Mark>) -> bool {
        if generation != self.generation() {
            return false;
        }
        match (self.phase(), probe) {
            (State::Closed, None) => {
                if let Some(mark) = outcome {
                    self.end(now, vec![mark]);
                }
                true
            }
            (State::HalfOpen, Some(id)) if self.running().iter().any(|probe| probe.0 == id) => {
                self.history.push(Past::ProbeEnded { id, outcome });
                if outcome.is_none() {
                    return true;
                }
                let (good, bad) = self.probe_outcomes();
                if bad >= self.setup().reopen_after {
                    self.open(now, Why::Probes);
                } else if good >= self.setup().close_after {
                    self.history.push(Past::Closed);
                }
                true
            }
            _ => false,
        }
    }

    /// Counts several outcomes, and returns whether they could count.
    pub fn report(&mut self, now: Time, generation: u64, marks: Vec<Mark>) -> bool {
        let counts = generation == self.generation() && self.phase() == State::Closed;
        if counts {
            self.end(now, marks);
        }
        counts
    }

    fn end(&mut self, at: Time, marks: Vec<Mark>) {
        self.history.push(Past::Ended { at, marks });
        let window = self.window(at);
        let failed = window.iter().filter(|mark| mark.failed).count();
        let slow = window.iter().filter(|mark| mark.slow).count();
        if self.is_too_much(self.setup().failures, failed, window.len())
            || self.is_too_much(self.setup().slow, slow, window.len())
        {
            self.open(at, Why::Calls);
        }
    }

    fn is_too_much(&self, limit: Option<Limit>, bad: usize, all: usize) -> bool {
        let Some(limit) = limit else { return false };
        let setup = self.setup();
        let (least, needed) = match (limit, setup.span) {
            (Limit::Calls(calls), _) => (calls as usize, 1),
            (Limit::Percent(percent), Span::Calls(calls)) => (share(all, percent), calls),
            (Limit::Percent(percent), Span::Time(_)) => (share(all, percent), 20),
        };
        bad >= least && all >= setup.min_calls.map_or(needed, |calls| calls as usize)
    }

    pub fn force_open(&mut self) {
        self.history.push(Past::Opened { why: Why::ByHand, until: None });
    }

    pub fn force_closed(&mut self) {
        self.history.push(Past::Closed);
    }
}

/// The least number of calls that are this part of all.
fn share(all: usize, percent: u32) -> usize {
    (all * percent as usize).div_ceil(100)
}

fn is_transition(past: &Past) -> bool {
    matches!(past, Past::Opened { .. } | Past::HalfOpened | Past::Closed)
}

/// A tenth of a window of time.
fn part(time: Time) -> Time {
    time / 10
}

/// The last outcomes, as many as this.
fn last(calls: usize, ended: &[(Time, Vec<Mark>)]) -> Vec<(Time, Vec<Mark>)> {
    let each: Vec<_> = ended.iter().flat_map(|(at, marks)| marks.iter().map(|mark| (*at, vec![*mark]))).collect();
    each[each.len().saturating_sub(calls)..].to_vec()
}

/// The outcomes of the last ten parts. After the clock was set back, the part is still the newest
/// that any outcome had; if it was set back by more than all parts, they are forgotten.
fn of_the_last(part: Time, now: Time, ended: &[(Time, Vec<Mark>)]) -> Vec<Mark> {
    let mut newest = 0;
    let mut all = vec![];
    for (at, marks) in ended {
        if newest > at / part + 10 {
            (newest, all) = (0, vec![]);
        }
        newest = newest.max(at / part);
        all.extend(marks.iter().map(|&mark| (newest, mark)));
    }
    let current = newest.max(now / part);
    all.into_iter().filter(|(number, _)| current - number < 10).map(|(_, mark)| mark).collect()
}
