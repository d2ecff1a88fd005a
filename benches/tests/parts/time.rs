//! How times are measured and compared.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bulklink_benches::measure::time::{Effort, compare, elapsed, in_turn, median, summary};
use bulklink_benches::scene::{Pace, Scene};

#[test]
fn the_median_is_in_the_middle_whatever_the_order() {
    assert_eq!(median([9.0, 1.0, 2.0].into_iter()), 2.0);
    assert_eq!(median([4.0, 1.0, 2.0, 100.0].into_iter()), 3.0);
}

#[test]
fn the_median_of_the_ratios_counts_and_not_the_ratio_of_the_medians() {
    // The machine slows down in mid-run, for both alike.
    let times = [(1.0, 2.0), (2.0, 4.0), (30.0, 10.0), (10.0, 20.0), (11.0, 22.0)];
    let summary = summary("a", "b", &times);
    assert_eq!((summary.ours_ns, summary.peer_ns, summary.ratio), (10.0, 10.0, 0.5));
}

#[test]
fn either_may_go_first_and_each_keeps_its_place() {
    for straight in [true, false] {
        let order = RefCell::new(Vec::new());
        let note = |name| {
            order.borrow_mut().push(name);
            name
        };
        assert_eq!(in_turn(straight, || note("ours"), || note("peer")), ("ours", "peer"));
        assert_eq!(order.borrow()[0] == "ours", straight);
    }
}

#[test]
fn each_round_times_every_pair_and_slow_pairs_have_fewer_rounds() {
    let order = Rc::new(RefCell::new(String::new()));
    let scene = |name: &'static str, pace| {
        let order = Rc::clone(&order);
        Scene::new(name, move |_, _| order.borrow_mut().push_str(name)).pace(pace)
    };
    let pair = |ours, peer, pace| (scene(ours, pace), scene(peer, pace));
    let pairs = [pair("a", "b", Pace::Fixed(1)), pair("C", "D", Pace::Once(1))];
    let effort = Effort { rounds: 3, slow_rounds: 2, least: Duration::ZERO };
    assert_eq!(compare(&pairs, effort).len(), 2);
    assert_eq!(*order.borrow(), "abCDbaDCab");
}

#[test]
fn only_the_work_is_timed_and_set_up_is_not() {
    let slow = Scene::new("slow to set up", |_, meter| {
        std::thread::sleep(Duration::from_millis(20));
        meter(&mut || {});
    });
    assert!(elapsed(&slow, 1) < Duration::from_millis(20));
}
