//! The loads of the simulation.

/// A load, and the fleet that it is put on. Times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) processes: usize,
    pub(super) limit: u32,
    pub(super) load: Load,
    /// The mean time of an operation.
    pub(super) hold: f64,
    /// The waiting room of each process.
    pub(super) room: usize,
    /// The time that is simulated.
    pub(super) time: u64,
}

/// How calls arrive. A fraction is the offered work, as a part of the limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// At random, the same at all processes.
    Even(f64),
    /// Nine of ten calls at one process.
    Hot(f64),
    /// Seven of ten calls at one process, another one each second.
    Moving(f64),
    /// In bursts of 200 ms.
    Bursty(f64),
    /// From clients that call again and again: those of the first process, and of each other one.
    Closed(u32, u32),
}

impl Load {
    /// Returns the mean number of calls in a microsecond that arrive at a process.
    pub(super) fn rate(self, case: &Case, process: usize, now: u64) -> f64 {
        let whole = f64::from(case.limit) / case.hold;
        let others = (case.processes - 1).max(1) as f64;
        let each = whole / case.processes as f64;
        match self {
            Self::Even(part) => part * each,
            Self::Hot(part) if process == 0 => part * whole * 0.9,
            Self::Hot(part) => part * whole * 0.1 / others,
            Self::Moving(part) if process == hot(case, now) => part * whole * 0.7,
            Self::Moving(part) => part * whole * 0.3 / others,
            Self::Bursty(part) if (now / 200_000 + process as u64 * 7_919).is_multiple_of(5) => part * each * 4.0,
            Self::Bursty(part) => part * each * 0.25,
            Self::Closed(..) => 0.0,
        }
    }

    /// Returns the number of clients of a process.
    pub(super) fn clients(self, process: usize) -> u32 {
        match self {
            Self::Closed(first, _) if process == 0 => first,
            Self::Closed(_, others) => others,
            _ => 0,
        }
    }

    pub(super) fn is_closed(self) -> bool {
        matches!(self, Self::Closed(..))
    }
}

/// Returns the process that is hot in this second.
pub(super) fn hot(case: &Case, now: u64) -> usize {
    usize::try_from(now / 1_000_000).unwrap_or(0) % case.processes
}

/// Returns the loads of the table.
pub(super) fn cases() -> Vec<Case> {
    let case = |name, processes, limit, load, hold, room, seconds: u64| Case {
        name,
        processes,
        limit,
        load,
        hold,
        room,
        time: seconds * 1_000_000,
    };
    vec![
        case("even 60 %", 30, 100, Load::Even(0.6), 5_000.0, 1_000, 10),
        case("even 60 %, limit 1,000", 30, 1_000, Load::Even(0.6), 5_000.0, 1_000, 4),
        case("even 95 %", 30, 100, Load::Even(0.95), 5_000.0, 1_000, 10),
        case("even 130 %, room 20", 30, 100, Load::Even(1.3), 5_000.0, 20, 10),
        case("one has 90 % of 60 %", 30, 100, Load::Hot(0.6), 5_000.0, 1_000, 10),
        case("one has 90 % of 150 %, room 50", 30, 100, Load::Hot(1.5), 5_000.0, 50, 10),
        case("moving each second, 80 %", 30, 100, Load::Moving(0.8), 5_000.0, 1_000, 12),
        case("bursty 70 %", 30, 100, Load::Bursty(0.7), 5_000.0, 1_000, 10),
        case("limit 3, 30 × 4 clients", 30, 3, Load::Closed(4, 4), 5_000.0, 1_000, 20),
        case("limit 3, 70 %", 30, 3, Load::Even(0.7), 5_000.0, 1_000, 20),
        case("limit 1, 8 × 4 clients, 3 ms", 8, 1, Load::Closed(4, 4), 3_000.0, 1_000, 20),
        case("48 + 3 × 4 clients, limit 10", 4, 10, Load::Closed(48, 4), 5_000.0, 1_000, 10),
    ]
}

/// The load of a large fleet: 1,000 processes.
pub(super) const LARGE: Case = Case {
    name: "1,000 processes, even 60 %",
    processes: 1_000,
    limit: 8_300,
    load: Load::Even(0.6),
    hold: 5_000.0,
    room: 1_000,
    time: 2_500_000,
};
