//! What comes from outside, and when: on a real board, buttons, packets and timers.

/// The jobs, by their names.
pub(crate) const JOBS: [&str; 4] = ["sampler", "beacon", "logger", "console"];

/// Something happens to the job of this number.
#[derive(Clone, Copy)]
pub(crate) enum Input {
    /// It wants the slot, for so many milliseconds.
    Ask { job: usize, work: u32 },
    /// It is no longer wanted.
    Cancel { job: usize },
    /// No job is to begin any more.
    Close,
}

/// By the millisecond.
const SCRIPT: [(u32, Input); 12] = [
    // Admitted, queued behind it, and turned away for want of room.
    (10, Input::Ask { job: 0, work: 10 }),
    (11, Input::Ask { job: 1, work: 10 }),
    (12, Input::Ask { job: 2, work: 10 }),
    (13, Input::Ask { job: 3, work: 10 }),
    // The job ahead of the logger gives up, so the logger is handed the slot at 20.
    (15, Input::Cancel { job: 1 }),
    // Nobody waits longer than 20 ms.
    (40, Input::Ask { job: 0, work: 30 }),
    (41, Input::Ask { job: 1, work: 10 }),
    (62, Input::Ask { job: 2, work: 10 }),
    // It is running when the gate is closed, and ends in peace.
    (90, Input::Ask { job: 0, work: 15 }),
    (91, Input::Ask { job: 1, work: 10 }),
    (95, Input::Close),
    (96, Input::Ask { job: 2, work: 10 }),
];

/// What happens in a millisecond.
pub(crate) fn at(now: u32) -> impl Iterator<Item = Input> {
    SCRIPT.into_iter().filter(move |(at, _)| *at == now).map(|(_, input)| input)
}
