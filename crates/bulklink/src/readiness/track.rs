//! For how much of the last grace period calls of one bulkhead have waited: written by its event
//! handler, and read without a lock.

use core::array;
use core::time::Duration;

use bulklink_core::Instant;

use super::number::Number;

/// The number of checkpoints in a grace period. Fewer under loom, where each is an object of the
/// search.
const STEPS: u64 = if cfg!(bulklink_loom) { 2 } else { 64 };
/// The number of checkpoints that are kept: a reader can be that much slower than the writer.
const KEPT: usize = if cfg!(bulklink_loom) { 6 } else { 80 };
/// How often a reader begins again if checkpoints were replaced while it read them. That takes a
/// part of the grace period each time.
const TRIES: usize = 4;

/// Percents of the grace period.
const NOT_READY: u128 = 95;
const READY: u128 = 80;

/// Times are in nanoseconds since the bulkhead is watched, and `waited(t)` is how much of the time
/// until `t` calls have waited.
///
/// One thread at a time writes, since a bulkhead's events are delivered one by one. What has been
/// stored about the past never changes, except that checkpoints are replaced: so a reader needs no
/// lock.
pub(super) struct Track {
    begin: Instant,
    grace: u64,
    /// The time between two checkpoints.
    step: u64,
    state: Number,
    /// The latest time that was written. It is stored before the checkpoints, so a reader finds by
    /// it that they were replaced.
    latest: Number,
    /// The number of the last checkpoint that was written. It is stored after it.
    written: Number,
    /// `waited` at the multiples of a step.
    checkpoints: [Number; KEPT],
}

/// The facts since the last transition, in one number: whether calls wait, the verdict then,
/// whether the bulkhead is closed, and `waited` as a function of time. That is a constant while no
/// call waits; else it is the time less a constant.
#[derive(Clone, Copy)]
struct State(u64);

const WAITING: u64 = 1 << 63;
const OUT: u64 = 1 << 62;
const CLOSED: u64 = 1 << 61;
/// The rest: 73 years.
const NANOS: u64 = CLOSED - 1;

impl State {
    fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn waited(self, at: u64) -> u64 {
        let constant = self.0 & NANOS;
        if self.is(WAITING) { at.saturating_sub(constant) } else { constant }
    }

    /// Returns the state after a transition at this time.
    fn after(self, at: u64, is_waiting: bool, is_out: bool) -> State {
        let waited = self.waited(at);
        let constant = if is_waiting { WAITING | at.saturating_sub(waited) } else { waited };
        State(constant | if is_out { OUT } else { 0 })
    }
}

impl Track {
    pub(super) fn new(grace: Duration, begin: Instant) -> Self {
        let grace = u64::try_from(grace.as_nanos()).unwrap_or(NANOS);
        Track {
            begin,
            grace,
            step: grace.div_ceil(STEPS),
            state: Number::new(0),
            latest: Number::new(0),
            written: Number::new(0),
            checkpoints: array::from_fn(|_| Number::new(0)),
        }
    }

    /// Stores whether calls wait, from when the bulkhead is watched.
    pub(super) fn start(&self, is_waiting: bool, is_closed: bool) {
        let flags = if is_waiting { WAITING } else { 0 } | if is_closed { CLOSED } else { 0 };
        self.state.store(flags);
    }

    /// Stores that the bulkhead is closed. Nothing is stored after that.
    pub(super) fn close(&self) {
        self.state.store(self.state.load_to_write() | CLOSED);
    }

    /// Stores whether calls wait. The time is read only if that has changed; without it, the time
    /// is that of the last transition.
    pub(super) fn turn(&self, is_waiting: bool, now: impl FnOnce() -> Option<Instant>) {
        let state = State(self.state.load_to_write());
        if state.is(CLOSED) || state.is(WAITING) == is_waiting {
            return;
        }
        let at = self.time(now());
        self.latest.store(at);
        self.write(state, at);
        // Between two transitions, the share that was waited only grows or only shrinks. So the
        // verdict at each of them, and now, is all that can matter.
        let is_out = self.is_out(state, at).unwrap_or(state.is(OUT));
        self.state.store(state.after(at, is_waiting, is_out).0);
    }

    /// Writes the checkpoints up to this time. Those that have no place any more are left out.
    fn write(&self, state: State, at: u64) {
        let (written, last) = (self.written.load_to_write(), at / self.step);
        let first = (written + 1).max((last + 1).saturating_sub(KEPT as u64));
        for number in first..=last {
            self.place(number).store(state.waited(number * self.step));
        }
        self.written.store(last.max(written));
    }

    /// Returns whether the bulkhead is not ready. It reads the clock only if that matters.
    pub(super) fn is_not_ready(&self, now: impl Fn() -> Option<Instant>) -> bool {
        for _ in 0..TRIES {
            let state = State(self.state.load());
            if state.is(CLOSED) || !state.is(WAITING) && !state.is(OUT) {
                return state.is(CLOSED);
            }
            if let Some(is_out) = self.is_out(state, self.time(now())) {
                return is_out;
            }
        }
        State(self.state.load()).is(OUT)
    }

    /// Returns the verdict at a time that no transition is later than; `None` if the checkpoints
    /// were replaced meanwhile.
    fn is_out(&self, state: State, at: u64) -> Option<bool> {
        let before = at.checked_sub(self.grace).map_or(Some(0), |start| self.waited(state, start))?;
        let waited = state.waited(at).saturating_sub(before);
        let has_waited = |percent| u128::from(waited) * 100 >= u128::from(self.grace) * percent;
        // While calls wait, the share does not shrink; while none waits, it does not grow.
        Some(if state.is(WAITING) {
            state.is(OUT) || has_waited(NOT_READY)
        } else {
            state.is(OUT) && has_waited(READY)
        })
    }

    /// Returns `waited` at a time in the past: at the two checkpoints around it exactly, and in
    /// between on the line that joins them. So it is wrong by a quarter of a step at most, and
    /// never grows faster than time.
    fn waited(&self, state: State, at: u64) -> Option<u64> {
        let (number, written) = (at / self.step, self.written.load());
        let checkpoint = |number: u64| {
            if number <= written { self.place(number).load() } else { state.waited(number * self.step) }
        };
        let (before, after) = (checkpoint(number), checkpoint(number + 1));
        let share = u128::from(after.saturating_sub(before)) * u128::from(at % self.step) / u128::from(self.step);
        let is_kept = self.latest.load() / self.step < number + KEPT as u64;
        is_kept.then(|| before + u64::try_from(share).unwrap_or(u64::MAX))
    }

    fn place(&self, number: u64) -> &Number {
        let kept = KEPT as u64;
        &self.checkpoints[usize::try_from(number % kept).unwrap_or(0)]
    }

    /// Returns the time since the bulkhead is watched. It never runs back behind a transition, also
    /// if the clock does.
    fn time(&self, now: Option<Instant>) -> u64 {
        let passed = now.map_or(Duration::ZERO, |now| now.saturating_since(self.begin)).as_nanos();
        u64::try_from(passed).map_or(NANOS, |nanos| nanos.min(NANOS)).max(self.latest.load())
    }
}

#[cfg(all(test, not(bulklink_loom)))]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Duration::from_millis(millis)
    }

    #[test]
    fn a_reader_that_is_too_slow_finds_that_checkpoints_were_replaced() {
        let track = Track::new(Duration::from_millis(64), Instant::EPOCH);
        track.turn(true, || Some(at(0)));
        let (state, slow) = (State(track.state.load()), 100_000_000);
        assert_eq!(track.is_out(state, slow), Some(true));
        track.turn(false, || Some(at(115)));
        assert_eq!(track.is_out(state, slow), Some(true), "the checkpoint at 36 ms is the oldest");
        track.turn(true, || Some(at(116)));
        assert_eq!(track.is_out(state, slow), None);
    }

    #[test]
    fn nothing_is_stored_after_a_close() {
        let track = Track::new(Duration::from_millis(1), Instant::EPOCH);
        track.close();
        track.turn(true, || Some(at(1)));
        track.turn(false, || Some(at(2)));
        assert!(track.is_not_ready(|| Some(at(9))));
    }
}
