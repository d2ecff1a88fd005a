//! The external inputs and their times: on a real board, buttons, packets and timers.

/// The names of the jobs.
pub(crate) const JOBS: [&str; 4] = ["sampler", "beacon", "logger", "console"];

/// An input from outside, for the job with this number.
#[derive(Clone, Copy)]
pub(crate) enum Input {
    /// The job asks for the slot, for this many milliseconds.
    Ask { job: usize, work: u32 },
    /// The job is cancelled.
    Cancel { job: usize },
    /// No job may begin any more.
    Close,
}

/// The inputs, with their millisecond.
const SCRIPT: [(u32, Input); 12] = [
    // One job is admitted, two are queued behind it, and the fourth is rejected for lack of room.
    (10, Input::Ask { job: 0, work: 10 }),
    (11, Input::Ask { job: 1, work: 10 }),
    (12, Input::Ask { job: 2, work: 10 }),
    (13, Input::Ask { job: 3, work: 10 }),
    // The job ahead of the logger is cancelled, so the logger is granted the slot at 20.
    (15, Input::Cancel { job: 1 }),
    // No job waits longer than 20 ms.
    (40, Input::Ask { job: 0, work: 30 }),
    (41, Input::Ask { job: 1, work: 10 }),
    (62, Input::Ask { job: 2, work: 10 }),
    // The job runs when the gate closes, and runs to its end.
    (90, Input::Ask { job: 0, work: 15 }),
    (91, Input::Ask { job: 1, work: 10 }),
    (95, Input::Close),
    (96, Input::Ask { job: 2, work: 10 }),
];

/// Returns the inputs of this millisecond.
pub(crate) fn at(now: u32) -> impl Iterator<Item = Input> {
    SCRIPT.into_iter().filter(move |(at, _)| *at == now).map(|(_, input)| input)
}
