//! The search for the limits of a bulkhead.

use std::ops::ControlFlow;
use std::time::Duration;

use bulklink_core::{InvalidArgument, Limits};

use crate::distribution::nanos;
use crate::measure::Measurement;
use crate::random::{units, whole};
use crate::{Ask, Estimate, Figures, guess, what_if};

/// The limits for a load, and their effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The limits to set.
    pub limits: Limits,
    /// The least waiting room from which on the search saw no clear difference.
    pub least_room: usize,
    /// The effect of the limits, from calls that the search has not seen.
    pub figures: Figures,
    /// Their effect where an assumption is wrong.
    pub what_ifs: Vec<WhatIf>,
    /// Whether the search has ended; otherwise this is its state when it was stopped.
    pub is_complete: bool,
    /// The work that was done.
    pub progress: Progress,
}

/// The effect of the limits of a plan where an assumption is wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WhatIf {
    /// The wrong assumption.
    pub what: String,
    /// The figures with the limits of the plan.
    pub figures: Figures,
    /// The capacity that would be needed, with the same wait limit; `None` if the search was
    /// stopped before.
    pub needs: Option<usize>,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// The step of the search.
    pub step: &'static str,
    /// The simulations that were begun.
    pub simulations: u32,
    /// The calls that were simulated.
    pub arrivals: u64,
}

/// Finds the least capacity and waiting room, and the wait limit, with which no more than a part of
/// all calls is rejected.
///
/// It reports its progress many times per second, and stops early where that answers with a break:
/// then the plan is the state of the search so far.
///
/// ```
/// use bulklink_plan::{Ask, Distribution, plan};
/// use std::ops::ControlFlow;
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let mut ask = Ask::new(500.0, Distribution::quantiles(ms(20), ms(200))?);
/// ask.deadline = Some(ms(250));
/// # ask.budget = 10_000;
/// // Enough for an example.
/// let stop = |progress: &_| match progress {
///     bulklink_plan::Progress { arrivals: 0..200_000, .. } => ControlFlow::Continue(()),
///     _ => ControlFlow::Break(()),
/// };
/// let plan = plan(&ask, stop)?;
/// assert!((16..24).contains(&plan.limits.capacity) && !plan.is_complete);
/// # Ok::<(), bulklink_plan::InvalidArgument>(())
/// ```
///
/// # Errors
///
/// If a field of the ask is out of its range.
pub fn plan(ask: &Ask, progress: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<Plan, InvalidArgument> {
    ask.check()?;
    let mut search = Search::new(ask, progress);
    let found = search.found();
    let (limits, least_room) = match found {
        Ok(found) => found,
        Err(Stopped) => search.known(),
    };
    let (limits, figures, confirmed) = match found.and_then(|_| search.confirmed(limits)) {
        Ok((limits, figures)) => (limits, figures, Ok(())),
        Err(Stopped) => (limits, search.last_figures(limits), Err(Stopped)),
    };
    let mut what_ifs = Vec::new();
    let ended = confirmed.and_then(|()| what_if::all(&mut search, &limits, &mut what_ifs));
    let least_room = least_room.min(limits.waiting_room);
    Ok(Plan { limits, least_room, figures, what_ifs, is_complete: ended.is_ok(), progress: search.progress })
}

/// The search was stopped from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped;

pub(crate) struct Search<'a, P> {
    pub(crate) ask: &'a Ask,
    report: P,
    progress: Progress,
    /// In nanoseconds.
    wait_limit: f64,
    /// The least capacity that suffices, of those that were tried.
    capacity: Option<usize>,
}

/// The seeds of the search, of the figures, and of the assumptions follow from that of the ask.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Search,
    Figures(u64),
    WhatIf,
}

impl<'a, P: FnMut(&Progress) -> ControlFlow<()>> Search<'a, P> {
    fn new(ask: &'a Ask, report: P) -> Self {
        let wait_limit = ask.given_wait_limit().unwrap_or(ask.deadline.map_or(0.0, nanos) / 4.0);
        Search { ask, report, progress: Progress::default(), wait_limit, capacity: None }
    }

    /// Returns the limits that suffice for the calls of the search, and the least room that may.
    fn found(&mut self) -> Result<(Limits, usize), Stopped> {
        self.progress.step = "wait limit";
        if self.ask.given_wait_limit().is_none() {
            self.find_wait_limit()?;
        }
        self.progress.step = "parallelism";
        let capacity = self.least_capacity(self.ask, self.ask.budget)?;
        self.progress.step = "waiting room";
        self.find_room(capacity)
    }

    /// Chooses the part of the deadline that loses least in the worst of three overloads: of calls
    /// in time, compared with the best part for that overload.
    fn find_wait_limit(&mut self) -> Result<(), Stopped> {
        const PARTS: [f64; 7] = [0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75];
        const OVERLOADS: [f64; 3] = [1.0, 1.25, 2.0];
        let deadline = self.ask.deadline.map_or(0.0, nanos);
        let capacity = self.ask.offered().ceil() + 1.0;
        let calls = whole(20.0 * self.ask.offered()).max(self.ask.budget / 40);
        let mut worst = [0.0_f64; PARTS.len()];
        for overload in OVERLOADS {
            let times = overload * capacity / self.ask.offered();
            let mut in_time = [0.0; PARTS.len()];
            for (part, in_time) in PARTS.iter().zip(&mut in_time) {
                self.wait_limit = deadline * part;
                let limits = self.limits(units(capacity), None);
                let figures = self.measure(self.ask, times, &limits, calls, Stream::Search)?;
                *in_time = figures.in_time.unwrap_or_default().mean;
            }
            let best = in_time.iter().copied().fold(0.0, f64::max);
            for (worst, in_time) in worst.iter_mut().zip(in_time) {
                *worst = worst.max(best - in_time);
            }
        }
        let (_, part) = worst
            .iter()
            .zip(PARTS)
            .fold((f64::MAX, 0.0), |least, (&loss, part)| if loss < least.0 { (loss, part) } else { least });
        self.wait_limit = deadline * part;
        Ok(())
    }

    /// Finds the least capacity that suffices with any number of waiting calls: gallops from the
    /// guess, and then bisects.
    pub(crate) fn least_capacity(&mut self, ask: &Ask, budget: u64) -> Result<usize, Stopped> {
        let guess = guess::capacity(ask, self.wait_limit);
        let mut step = guess.isqrt().div_ceil(2);
        let (mut below, mut enough) = (0, guess);
        if self.suffices(ask, guess, budget)? {
            while let Some(less) = enough.checked_sub(step).filter(|less| *less > 0) {
                if !self.suffices(ask, less, budget)? {
                    below = less;
                    break;
                }
                (enough, step) = (less, 2 * step);
            }
        } else {
            below = guess;
            loop {
                enough = below + step;
                if self.suffices(ask, enough, budget)? {
                    break;
                }
                (below, step) = (enough, 2 * step);
            }
        }
        while enough - below > 1 {
            let middle = below.midpoint(enough);
            if self.suffices(ask, middle, budget)? {
                enough = middle;
            } else {
                below = middle;
            }
        }
        Ok(enough)
    }

    fn suffices(&mut self, ask: &Ask, capacity: usize, budget: u64) -> Result<bool, Stopped> {
        let rejected = self.rejected(ask, &self.limits(capacity, None), budget)?;
        let suffices = rejected.mean <= ask.rejected;
        if suffices && self.capacity.is_none_or(|known| capacity < known) {
            self.capacity = Some(capacity);
        }
        Ok(suffices)
    }

    /// Finds the least room that suffices with this capacity, or with one more if none does.
    fn find_room(&mut self, mut capacity: usize) -> Result<(Limits, usize), Stopped> {
        let (mut below, mut enough) = (None, self.largest_room(capacity));
        while self.rejected_with(capacity, enough)?.mean > self.ask.rejected {
            capacity += 1;
            enough = self.largest_room(capacity);
        }
        let mut least = enough;
        while below.map_or(enough > 0, |below| enough - below > 1) {
            let middle = below.map_or(0, |below| enough.midpoint(below));
            let rejected = self.rejected_with(capacity, middle)?;
            if rejected.mean - rejected.half <= self.ask.rejected {
                least = least.min(middle);
            }
            if rejected.mean <= self.ask.rejected {
                enough = middle;
            } else {
                below = Some(middle);
            }
        }
        Ok((self.limits(capacity, Some(enough)), least))
    }

    fn rejected_with(&mut self, capacity: usize, room: usize) -> Result<Estimate, Stopped> {
        self.rejected(self.ask, &self.limits(capacity, Some(room)), self.ask.budget)
    }

    /// Measures the limits on calls that the search has not seen. Where these show that too many
    /// are rejected, takes more room, and then more capacity.
    fn confirmed(&mut self, mut limits: Limits) -> Result<(Limits, Figures), Stopped> {
        self.progress.step = "figures";
        for stream in 0.. {
            let calls = self.ask.budget.max(self.ask.least_calls());
            let figures = self.measure(self.ask, 1.0, &limits, calls, Stream::Figures(stream))?;
            if figures.rejected.mean <= self.ask.rejected {
                return Ok((limits, figures));
            }
            let room = limits.waiting_room + (limits.waiting_room / 4).max(1);
            let is_full = room > self.largest_room(limits.capacity);
            limits = if is_full {
                self.limits(limits.capacity + 1, Some(limits.waiting_room))
            } else {
                self.limits(limits.capacity, Some(room))
            };
        }
        unreachable!("the capacity grows until nothing is rejected")
    }

    /// The limits when the search is stopped: a capacity that suffices, or else the guess.
    fn known(&self) -> (Limits, usize) {
        let capacity = self.capacity.unwrap_or_else(|| guess::capacity(self.ask, self.wait_limit));
        let room = self.largest_room(capacity);
        (self.limits(capacity, Some(room)), room)
    }

    /// The figures after the search was stopped: of few calls.
    fn last_figures(&mut self, limits: Limits) -> Figures {
        let mut measurement = begin(self.ask, 1.0, &limits, 50_000, Stream::Figures(0));
        while !measurement.is_whole() {
            measurement.run_batch();
        }
        measurement.figures()
    }

    /// The calls that wait while all that can be admitted within the wait limit is. Hardly ever do
    /// more have their turn in time.
    #[expect(clippy::cast_precision_loss, reason = "a capacity is far below 2^52")]
    fn largest_room(&self, capacity: usize) -> usize {
        let flow = capacity as f64 * self.wait_limit / self.ask.hold.mean_nanos();
        units((flow + 4.0 * flow.sqrt()).ceil()).clamp(1, Limits::MAX)
    }

    /// Without a waiting room there is no wait to limit, and without a room any number may wait.
    fn limits(&self, capacity: usize, room: Option<usize>) -> Limits {
        let limits = Limits::new(capacity).with_waiting_room(room.unwrap_or(Limits::MAX));
        let limit = Duration::from_nanos(whole(self.wait_limit).max(1));
        limits.with_wait_limit((room != Some(0)).then_some(limit))
    }

    /// Returns the part of all calls that is rejected, from so many calls as are needed to tell it
    /// from the part that may be, or from as many as the budget allows.
    fn rejected(&mut self, ask: &Ask, limits: &Limits, budget: u64) -> Result<Estimate, Stopped> {
        let mut measurement = self.begin(ask, 1.0, limits, ask.least_calls(), Stream::Search)?;
        loop {
            self.run(&mut measurement)?;
            let rejected = measurement.rejected();
            let is_clear = (rejected.mean - ask.rejected).abs() > rejected.half;
            if is_clear || measurement.arrivals() >= budget {
                return Ok(rejected);
            }
        }
    }

    /// Returns the figures at so many times the rate, from so many calls.
    pub(crate) fn measure(
        &mut self,
        ask: &Ask,
        times: f64,
        limits: &Limits,
        calls: u64,
        stream: Stream,
    ) -> Result<Figures, Stopped> {
        let mut measurement = self.begin(ask, times, limits, calls, stream)?;
        self.run(&mut measurement)?;
        Ok(measurement.figures())
    }

    fn begin(
        &mut self,
        ask: &Ask,
        times: f64,
        limits: &Limits,
        calls: u64,
        stream: Stream,
    ) -> Result<Measurement, Stopped> {
        self.progress.simulations += 1;
        self.report()?;
        Ok(begin(ask, times, limits, calls, stream))
    }

    /// Runs one batch at least, and until there are enough for an interval.
    fn run(&mut self, measurement: &mut Measurement) -> Result<(), Stopped> {
        let before = self.progress.arrivals - measurement.arrivals();
        loop {
            measurement.run_batch();
            self.progress.arrivals = before + measurement.arrivals();
            self.report()?;
            if measurement.is_whole() {
                return Ok(());
            }
        }
    }

    fn report(&mut self) -> Result<(), Stopped> {
        if (self.report)(&self.progress).is_break() { Err(Stopped) } else { Ok(()) }
    }

    pub(crate) fn step(&mut self, step: &'static str) {
        self.progress.step = step;
    }
}

fn begin(ask: &Ask, times: f64, limits: &Limits, calls: u64, stream: Stream) -> Measurement {
    let stream = match stream {
        Stream::Search => 0,
        Stream::WhatIf => 1,
        Stream::Figures(number) => 2 + number,
    };
    let seed = ask.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(stream);
    let warm_up = ask.warm_up(calls);
    Measurement::new(*limits, ask.load(times), ask.deadline, warm_up, calls, seed).expect("the limits are in range")
}
