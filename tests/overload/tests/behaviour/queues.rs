//! The disciplines of a queue with deadlines.

use bulklink_overload::queues::discipline::{DISCIPLINES, Discipline, Drops, Order, Reserve};
use bulklink_overload::queues::plant::{DEV, HELD_OUT, Plant};
use bulklink_overload::queues::simulation::run;
use bulklink_overload::random::Distribution::Exponential;

const FIFO: Discipline = Discipline { name: "test", order: Order::Fifo, reserve: Reserve::None, drops: Drops::None };

#[test]
fn as_many_are_served_as_by_one_server_with_impatient_calls() {
    let (service, wait) = (20.0_f64, 0.1_f64);
    let plant = Plant {
        slots: 1,
        service: 1.0 / service,
        distribution: Exponential,
        room: 10_000,
        deadlines: [2.0 * wait; 2],
        ..DEV[0]
    };
    for load in [0.8, 1.5] {
        let half = Discipline { reserve: Reserve::Share(0.5), ..FIFO };
        let figures = run(&plant, half, load, 1);
        let served = figures.good / (1.0 - figures.late) * service * load.min(1.0);
        let rate = load * service;
        let at_limit = ((rate - service) * wait).exp();
        let (below, above) = (rate * (at_limit - 1.0) / (rate - service), rate / service * at_limit);
        let expected = rate * (1.0 - above / (1.0 + below + above));
        assert!((served / expected - 1.0).abs() < 0.02, "{served} is not {expected} at {load}");
    }
}

#[test]
fn only_fifo_with_one_deadline_overtakes_no_call() {
    for discipline in DISCIPLINES {
        let overtaken = run(&DEV[2], discipline, 2.0, 1).overtaken;
        let is_fair = matches!(discipline.order, Order::Fifo | Order::EarliestDeadline);
        assert_eq!(overtaken > 0.0, !is_fair, "{}: {overtaken}", discipline.name);
    }
    let earliest = Discipline { order: Order::EarliestDeadline, ..FIFO };
    assert!(run(&DEV[5], earliest, 2.0, 1).overtaken > 0.1, "with two deadlines");
}

#[test]
fn a_reserve_by_lateness_serves_few_too_late_and_none_at_all_serves_most() {
    for plant in HELD_OUT {
        let late = |reserve| run(&plant, Discipline { reserve, ..FIFO }, 2.0, 1).late;
        let by_lateness = late(Reserve::Lateness(0.01));
        assert!(by_lateness < 0.03, "{}: {by_lateness}", plant.name);
        assert!(late(Reserve::None) > 5.0 * by_lateness, "{}", plant.name);
    }
}

#[test]
fn with_time_for_all_each_discipline_serves_all() {
    for discipline in DISCIPLINES.into_iter().filter(|discipline| discipline.drops != Drops::CoDel) {
        let figures = run(&Plant { deadlines: [100.0; 2], room: 10_000, ..DEV[0] }, discipline, 0.7, 1);
        assert!((figures.good - 1.0).abs() < 0.02 && figures.late <= 0.0, "{}: {figures:?}", discipline.name);
    }
}
