//! `Knee`: the number of slots from which on more of them give no more work.

mod ramp;
mod slope;
mod track;
mod window;

use core::time::Duration;

use self::ramp::Ramp;
use self::track::Track;
use self::window::Window;
use super::{Bounds, CROSSING, Limit, Outcome, Sample, State, Step, narrow, nearest, seconds, seconds_since};
use crate::Instant;

/// A limit at the knee: the number of slots from which on more of them give hardly more completed
/// calls, and only make each of them longer.
///
/// It needs no target and no configuration but its bounds. It judges by windows of calls: 20 to 50
/// of them, or as many as come in a tenth of a second, or half as many as the limit up to 100.
/// While calls [press](Sample::pressed), it moves the limit up and down by 12 % and compares the
/// work that is done at each place.
///
/// - At the start it doubles the limit from window to window while that gives more work. Then it
///   goes down by quarters, to see how long calls take where they do not disturb each other.
/// - From then on it grows by up to 65 % a window while 18 % of the new slots' work is gained, and
///   falls otherwise. Where more slots make it worse at once, it steps back and stays below that
///   place for a while.
/// - Where nine of ten calls meet an [overload](Outcome::Overload), it begins anew at a quarter.
/// - A fall must pay: if calls become no faster, the limit goes back to where the fall began.
/// - Two windows in a row that disagree with all that was learnt make it forget that.
///
/// It does not move while slots are free and no call waits or is rejected, unless calls end in an
/// [overload](Outcome::Overload).
///
/// # Where it is wrong
///
/// It takes about 20 windows to learn: for calls that take seconds and are rare, a fixed limit or
/// [`Slo`](super::Slo) is better. Under pressure its place wanders between half and twice the right
/// one, at a few per cent of the completed calls. It knows no deadline: where a slot more gives a
/// little more work, and makes all calls longer, it stops at a place that may be too far for the
/// deadline, or not far enough. Units that are written off or held for hours count as running: if
/// they are as many as the limit, no call runs that could raise it.
///
/// ```
/// use bulklink_core::limit::{Knee, Limit};
///
/// let limit = Knee::between(4, 200);
/// assert_eq!((limit.limit(), limit.bounds()), (20, (4, 200)));
/// assert_eq!(Knee::between(4, 200).starting_at(50).limit(), 50);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    bounds: Bounds,
    /// The limit, before it is moved up and down to see.
    center: f64,
    current: u32,
    mode: Mode,
    window: Window,
    /// No window is open until no more are in use than the limit.
    drains: bool,
    /// It has judged a window since the latest stall.
    has_judged: bool,
    /// How long a call takes alone, in seconds: at first the mean of the first calls that succeed,
    /// of which there were so many.
    alone: f64,
    warm: u8,
    step: Step,
    holds: Holds,
    slope: f64,
    inflation: f64,
    counts: Counts,
}

/// How long the latest calls took, in seconds, and how they followed each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Holds {
    /// A mean over 20 calls.
    recent: f64,
    /// Means over 50 calls of the time, and of its square.
    mean: f64,
    square: f64,
    /// The mean time between two ends.
    gap: f64,
    /// The latest end; `None` before the first.
    last: Option<Instant>,
    /// Calls that began before this time count for nothing.
    void_before: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Ramp(Ramp),
    Track(Track),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    windows: u32,
    changes: u32,
    unpaid_falls: u32,
    stalls: u32,
}

impl Knee {
    /// Creates a limit between these bounds, in units. It starts at 20, if that is between them.
    ///
    /// The program that applies the limit refuses bounds that are empty or beyond its capacity.
    #[must_use]
    pub const fn between(least: usize, most: usize) -> Self {
        let bounds = Bounds::new(least, most);
        let center = bounds.clamp(20.0);
        Knee {
            bounds,
            center,
            current: nearest(center),
            mode: Mode::Ramp(Ramp::START),
            window: Window::open(Instant::EPOCH),
            drains: false,
            has_judged: false,
            alone: 0.0,
            warm: 0,
            step: Step::Set,
            holds: Holds { recent: 0.0, mean: 0.0, square: 0.0, gap: 0.0, last: None, void_before: Instant::EPOCH },
            slope: 1.0,
            inflation: 1.0,
            counts: Counts { windows: 0, changes: 0, unpaid_falls: 0, stalls: 0 },
        }
    }

    /// Sets where it starts, in units.
    #[must_use]
    pub const fn starting_at(self, units: usize) -> Self {
        let center = self.bounds.clamp(narrow(units) as f64);
        Knee { center, current: nearest(center), ..self }
    }

    /// How long a step of the limit takes to show, in seconds: a call, or most of the time for
    /// which a slot that is looked at is held.
    fn lag(&self) -> f64 {
        self.holds.recent.max(self.holds.square / self.holds.mean.max(1e-12))
    }

    fn open(&mut self, from: Instant) {
        self.window = Window::open(from);
    }

    /// Opens a window once the latest step of the limit shows.
    fn settle(&mut self, now: Instant) {
        self.open(now.saturating_add(duration(self.lag())));
    }

    /// Notes how calls follow each other, and finds stalls. Returns whether time went on as
    /// before.
    fn note_gap(&mut self, now: Instant, hold: f64) -> bool {
        // The first call opens the first window.
        let Some(last) = self.holds.last.replace(now) else { return false };
        let gap = seconds_since(now, last);
        // What comes again and again, such as batches of calls that time out together, is no
        // stall.
        let is_long = self.has_judged && self.holds.gap > 0.0 && gap > 30.0 * self.holds.gap;
        if is_long && gap > 3.0 * self.lag() {
            // Nothing ended for long. If this call ran through it, all that ran stood still; if
            // not, nothing ran.
            if hold > 0.9 * gap {
                self.has_judged = false;
                self.holds.void_before = now;
                self.counts.stalls = self.counts.stalls.wrapping_add(1);
                self.step = Step::Stalled;
            }
            return false;
        }
        self.holds.gap += 0.05 * (gap - self.holds.gap);
        true
    }

    fn note_hold(&mut self, hold: f64, outcome: Outcome) {
        let holds = &mut self.holds;
        let weight = if holds.mean == 0.0 { 1.0 } else { 0.02 };
        holds.mean += weight * (hold - holds.mean);
        holds.square += weight * (hold * hold - holds.square);
        if outcome != Outcome::Success {
            return;
        }
        holds.recent += if holds.recent == 0.0 { hold } else { 0.05 * (hold - holds.recent) };
        if self.warm < WARM {
            self.warm += 1;
            self.alone += (hold - self.alone) / f64::from(self.warm);
        }
    }

    /// Returns how many calls a window has at least.
    #[inline(never)]
    fn least_calls(&self) -> u32 {
        if let Mode::Ramp(ramp) = &self.mode {
            if ramp.calibrates() {
                return CALIBRATION;
            }
        }
        let per = |seconds: f64| if self.holds.gap > 0.0 { seconds / self.holds.gap } else { f64::MAX };
        let calls = per(LONGEST).clamp(f64::from(FEWEST), 50.0).max(per(SHORTEST).min(1_000.0));
        nearest(calls).max((self.current / 2).min(100))
    }

    /// Judges a window, at its end. Not inlined, so that most samples save fewer registers.
    #[inline(never)]
    fn close(&mut self, now: Instant, length: f64) {
        self.has_judged = true;
        self.counts.windows = self.counts.windows.wrapping_add(1);
        let window = self.window;
        let in_use = window.in_use();
        let (is_told, is_pressed) = (window.is_told(), window.is_pressed());
        if is_told && !is_pressed {
            self.center = self.bounds.clamp(self.center.min(1.05 * in_use));
            self.mode = Mode::Track(self.tracked());
        }
        if !is_told && !is_pressed {
            return self.idle(&window, now);
        }
        if is_pressed && window.is_hopeless() {
            return self.restart(now);
        }
        let point = window.point(length);
        match self.mode {
            Mode::Ramp(ramp) => self.ramp(ramp, &window, point, now),
            Mode::Track(track) => self.track(track, point, in_use, is_told, now),
        }
    }

    /// Hardly a call succeeds: it begins anew at a quarter of the limit.
    fn restart(&mut self, now: Instant) {
        self.center = self.bounds.clamp(self.center / 4.0);
        self.current = nearest(self.center);
        self.mode = Mode::Ramp(Ramp::START);
        self.step = Step::WasTold;
        self.drains = true;
        self.open(now);
    }

    /// No call waited: there is nothing to learn of the limit, but perhaps how long a call takes
    /// alone.
    fn idle(&mut self, window: &Window, now: Instant) {
        if let Some(hold) = window.mean_hold().filter(|_| f64::from(window.most) < 0.5 * self.center) {
            self.alone *= (hold / self.alone.max(1e-12)).clamp(0.8, 1.03);
        }
        if let Mode::Track(track) = &mut self.mode {
            track.rest();
        }
        self.step = Step::NotPressed;
        self.current = nearest(self.center);
        self.open(now);
    }

    fn tracked(&self) -> Track {
        match self.mode {
            Mode::Track(track) => track,
            Mode::Ramp(_) => Track::new(),
        }
    }
}

impl Limit for Knee {
    fn sample(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Ignore {
            return;
        }
        let last = self.holds.last.unwrap_or(sample.now);
        if sample.now.saturating_add(CROSSING) < last {
            // The clock was set back: nothing before it can be compared.
            (self.holds.last, self.holds.void_before) = (None, Instant::EPOCH);
            return self.open(sample.now);
        }
        // Readings of several threads cross.
        let (now, hold) = (last.max(sample.now), seconds(sample.hold));
        if !self.note_gap(now, hold) {
            self.open(now);
        }
        if self.counts.stalls > 0 && now.saturating_since(self.holds.void_before) < sample.hold {
            // It began before the end of a stall.
            return;
        }
        self.note_hold(hold, sample.outcome);
        let in_flight = narrow(sample.in_flight);
        if self.drains {
            // Where the limit is not applied, it waits no longer than for a slow call.
            let is_alone = sample.in_flight == sample.units;
            if in_flight <= self.current || is_alone || seconds_since(now, self.window.from) > PATIENCE * self.lag() {
                self.drains = false;
                self.open(now);
            }
            return;
        }
        if now < self.window.from {
            return;
        }
        let is_pressed = sample.pressed || in_flight >= self.current;
        self.window.add(sample, now, hold, is_pressed);
        // Most samples end here.
        if self.window.calls < self.window.next_look {
            return;
        }
        let least_calls = self.least_calls();
        if self.window.calls < least_calls {
            self.window.next_look = least_calls.min(self.window.calls + LOOKS);
            return;
        }
        let length = seconds_since(now, self.window.from);
        let is_calibration = matches!(&self.mode, Mode::Ramp(ramp) if ramp.calibrates());
        let least_length = if is_calibration { 0.0 } else { 0.5 * self.lag() };
        // A clock that stands still closes no window.
        if length > 0.0 && length >= least_length {
            self.close(now, length);
        }
    }

    #[inline]
    fn limit(&self) -> usize {
        self.current as usize
    }

    fn bounds(&self) -> (usize, usize) {
        self.bounds.to_usize()
    }

    fn state(&self) -> State {
        let in_use = self.center;
        State {
            limit: self.limit(),
            step: self.step,
            slope: self.slope,
            inflation: self.inflation,
            useful: in_use / self.inflation.max(1e-6),
            baseline: duration(self.alone),
            edge: Some(self.tracked().edge()).filter(|edge| edge.is_finite()).map(|edge| nearest(edge) as usize),
            windows: self.counts.windows.into(),
            changes: self.counts.changes.into(),
            unpaid_falls: self.counts.unpaid_falls.into(),
            stalls: self.counts.stalls.into(),
        }
    }
}

/// Returns a time in seconds as a duration; the longest one if it is longer.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

/// The baseline is the mean of so many calls. The first calls to end are the short ones.
const WARM: u8 = 60;
/// How many times as long as a step of the limit takes to show it waits for fewer calls in use.
const PATIENCE: f64 = 20.0;
/// A window has so many calls at least.
const FEWEST: u32 = 20;
/// After so many calls it is asked again how many a window needs, which takes two divisions.
const LOOKS: u32 = 8;
/// A window has so many seconds of calls, if these are between 20 and 50.
const LONGEST: f64 = 3.0;
/// A window has so many seconds of calls at least.
const SHORTEST: f64 = 0.1;
/// A window at a quarter of the slots has so many calls.
const CALIBRATION: u32 = 40;
/// The slope below which another slot is not worth its time.
const STAR: f64 = 0.18;
/// The inflation of a useful place, for a first limit.
const ROOM: f64 = 1.15;
