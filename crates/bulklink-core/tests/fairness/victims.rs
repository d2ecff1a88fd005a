//! Keys that ask for less than their share, beside others that ask for far more.

use crate::front::{Front, Line};
use crate::gates::Lent;
use crate::plain::Plain;
use crate::plant::{Figures, Source, run};
use crate::{WAIT_LIMIT, limits, usual_or_long};

const SLOTS: u32 = 10;
const ROOM: u32 = 500;
const SEED: u64 = 7;

/// The keys that ask for little come first.
struct Plant {
    name: &'static str,
    sources: Vec<Source>,
    victims: usize,
    seconds: f64,
    least_success: f64,
    /// The waits of the victims that half of them exceed, and one in a hundred, in milliseconds.
    most_waits: [f64; 2],
}

fn beside(victims: usize, victim: Source, others: usize, other: Source) -> Vec<Source> {
    [vec![victim; victims], vec![other; others]].concat()
}

#[test]
fn keys_beside_one_that_asks_for_forty_times_as_much_are_served() {
    let plant = Plant {
        name: "A, forty times the calls",
        sources: beside(9, Source::open(50.0), 1, Source::open(2_000.0)),
        victims: 9,
        seconds: usual_or_long(300.0, 3_000.0),
        least_success: 0.9999,
        // A tenth more than was measured of one machine with all lines inside it.
        most_waits: [1.3, 1.1 * 12.3],
    };
    plant.hold_with_both();
}

#[test]
fn keys_beside_one_with_ten_times_the_hold_are_served() {
    let plant = Plant {
        name: "B, ten times the hold",
        sources: beside(9, Source::open(50.0), 1, Source::open(200.0).holds(0.1)),
        victims: 9,
        seconds: usual_or_long(300.0, 3_000.0),
        least_success: 0.9999,
        most_waits: [9.0, 1.1 * 81.0],
    };
    plant.hold_with_both();
}

#[test]
fn sparse_keys_beside_many_that_ask_for_all_are_served() {
    let plant = Plant {
        name: "H, 40 sparse keys",
        sources: beside(40, Source::open(2.0), 60, Source::open(100.0)),
        victims: 40,
        seconds: usual_or_long(100.0, 1_000.0),
        least_success: 0.999,
        most_waits: [1.2, 1.1 * 72.0],
    };
    plant.hold_with_both();
}

#[test]
fn keys_beside_one_that_asks_for_all_are_served_also_if_they_are_more_than_slots() {
    let plant = Plant {
        name: "C, 99 victims",
        sources: beside(99, Source::open(5.0), 1, Source::open(2_000.0)),
        victims: 99,
        seconds: usual_or_long(100.0, 1_000.0),
        least_success: 0.9999,
        most_waits: [1.6, 1.1 * 11.0],
    };
    plant.hold_with_both();
}

impl Plant {
    /// Runs the plant with plain lines, and with gates as in the product: the outcome is the same.
    fn hold_with_both(&self) {
        let (plain, lent) = (self.figures::<Plain>(), self.figures::<Lent>());
        assert!(plain.tallies.iter().map(|tally| &tally.waits).eq(lent.tallies.iter().map(|tally| &tally.waits)));
        let mut victims = plain.of(0..self.victims);
        let busy = plain.running().iter().sum::<f64>() / f64::from(SLOTS);
        let (asked, success) = (victims.asked, victims.success());
        let [half, most, rare] = [0.5, 0.99, 0.999].map(|part| victims.quantile(part));
        println!(
            "{}: success {success:.5} of {asked}, waits {half:.2}, {most:.1}, {rare:.1} ms, busy {busy:.4}",
            self.name,
        );
        assert!(success >= self.least_success, "{success}");
        assert!(half <= self.most_waits[0] && most <= self.most_waits[1], "{half}, {most}");
        assert!(busy >= 0.999, "{busy}");
    }

    fn figures<L: Line>(&self) -> Figures {
        let mut front = Front::<L>::new(limits(SLOTS, ROOM), &self.sources);
        run(&mut front, &self.sources, self.seconds, Some(WAIT_LIMIT), SEED)
    }
}
