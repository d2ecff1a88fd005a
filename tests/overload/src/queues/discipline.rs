//! How a queue with deadlines orders its calls, how long they may wait, and which it gives up.

/// Which call is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest.
    Fifo,
    /// The newest.
    Lifo,
    /// The oldest; the newest while more calls wait than there are slots.
    Adaptive,
    /// That with the earliest deadline.
    EarliestDeadline,
}

/// How much of its time is kept for a call itself, so that it may wait for the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reserve {
    /// Nothing.
    None,
    /// This share of the time.
    Share(f64),
    /// A multiple of the mean hold, which is known.
    Mean(f64),
    /// A quantile of the last 128 holds.
    Quantile(f64),
    /// As much as makes this share of the calls late that had to wait for long.
    Lateness(f64),
}

/// Which calls are given up besides those whose wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drops {
    /// None.
    None,
    /// Newcomers whose wait is expected to be too long.
    Predicted,
    /// By `CoDel` as in folly: a target of 5 ms in intervals of 100 ms.
    CoDel,
    /// By `CoDel` with a target of an eighth of the time to wait.
    ScaledCoDel,
}

/// A discipline of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    /// Its name.
    pub name: &'static str,
    /// Which call is served next.
    pub order: Order,
    /// How long calls may wait.
    pub reserve: Reserve,
    /// Which calls are given up.
    pub drops: Drops,
}

const fn plain(name: &'static str, order: Order, reserve: Reserve) -> Discipline {
    Discipline { name, order, reserve, drops: Drops::None }
}

const P90: Reserve = Reserve::Quantile(0.9);

/// All disciplines of the table.
pub const DISCIPLINES: [Discipline; 16] = [
    plain("FIFO until the deadline", Order::Fifo, Reserve::None),
    plain("FIFO, D/4", Order::Fifo, Reserve::Share(0.75)),
    plain("FIFO, D/2", Order::Fifo, Reserve::Share(0.5)),
    plain("FIFO, fixed reserve 1.1 × mean", Order::Fifo, Reserve::Mean(1.1)),
    plain("FIFO, reserve p50", Order::Fifo, Reserve::Quantile(0.5)),
    plain("FIFO, reserve p90", Order::Fifo, P90),
    plain("FIFO, reserve p99", Order::Fifo, Reserve::Quantile(0.99)),
    plain("**FIFO, reserve by lateness 1 %**", Order::Fifo, Reserve::Lateness(0.01)),
    Discipline { name: "FIFO, p90, refused on arrival", order: Order::Fifo, reserve: P90, drops: Drops::Predicted },
    Discipline {
        name: "FIFO, CoDel 5/100 ms (folly)",
        order: Order::Fifo,
        reserve: Reserve::None,
        drops: Drops::CoDel,
    },
    Discipline { name: "FIFO, p90 + CoDel scaled to D", order: Order::Fifo, reserve: P90, drops: Drops::ScaledCoDel },
    plain("newest first", Order::Lifo, Reserve::None),
    plain("adaptive LIFO", Order::Adaptive, Reserve::None),
    plain("adaptive LIFO, p90", Order::Adaptive, P90),
    plain("earliest deadline", Order::EarliestDeadline, Reserve::None),
    plain("earliest deadline, p90", Order::EarliestDeadline, P90),
];
