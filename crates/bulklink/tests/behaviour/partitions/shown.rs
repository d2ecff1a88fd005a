//! Keys that operators may see: which have the most load.

use std::sync::OnceLock;
use std::time::Duration;

use bulklink::partitions::{KeyLoad, WorstKeys};
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Partitions, Request};

use super::{Tenants, builder, call, tenants, touch};
use crate::{executor, ms};

fn shown(executor: &Executor, max_partitions: usize) -> Tenants {
    let builder = builder(executor).capacity(3).waiting_room(2).max_partitions(max_partitions);
    builder.show_keys(|key| format!("<{key}>")).build().expect("valid")
}

fn worst(tenants: &Tenants, most: usize) -> WorstKeys {
    tenants.handle().worst_keys(most).expect("they are shown")
}

fn of(loads: &[KeyLoad], load: impl Fn(&KeyLoad) -> u64) -> Vec<(&str, u64)> {
    loads.iter().map(|one| (&*one.key, load(one))).collect()
}

fn in_use(worst: &WorstKeys) -> Vec<(&str, u64)> {
    of(&worst.in_use, |one| one.in_use as u64)
}

fn waiting(worst: &WorstKeys) -> Vec<(&str, u64)> {
    of(&worst.waiting, |one| one.waiting as u64)
}

fn rejected(worst: &WorstKeys) -> Vec<(&str, u64)> {
    of(&worst.rejected, |one| one.rejected)
}

/// Lets the partition of this key reject so many calls.
fn reject(tenants: &Tenants, key: &str, calls: usize) {
    let _all = tenants.key(key).with(Request::new().cost(3)).try_slot().expect("free");
    (0..calls).for_each(|_| drop(tenants.key(key).try_slot().expect_err("full")));
}

#[test]
fn keys_are_shown_only_if_the_program_allows_it() {
    let executor = executor();
    let (hidden, shown) = (tenants(&executor, 2), shown(&executor, 2));
    let _running = [&hidden, &shown].map(|tenants| tenants.key("ann").try_slot().expect("free"));
    assert_eq!(hidden.handle().worst_keys(10), None);
    assert_eq!(in_use(&worst(&shown, 10)), [("<ann>", 1)]);
    let handle = shown.handle();
    let rejection = shown.key("ann").with(Request::new().cost(3)).try_slot().expect_err("full");
    let others = format!("{shown:?} {handle:?} {:?} {rejection} {:?}", handle.status(), handle.sums());
    assert!(!others.contains("ann"), "{others}");
}

#[test]
fn the_keys_with_the_most_load_come_first_and_idle_ones_not_at_all() {
    let mut executor = executor();
    let tenants = shown(&executor, 5);
    worst(&tenants, 1);
    executor.clock().advance(ms(1));
    touch(&tenants, "idle");
    let run = |key: &str, cost| tenants.key(key).with(Request::new().cost(cost)).try_slot().expect("free");
    let _running = [("a", 1), ("b", 3), ("c", 3), ("d", 2)].map(|(key, cost)| run(key, cost));
    let _waiting = ["c", "b", "c"].map(|key| call(&mut executor, &tenants, key));
    for (key, calls) in [("b", 2), ("c", 1), ("d", 4)] {
        let too_much = || tenants.key(key).with(Request::new().cost(2)).try_slot();
        (0..calls).for_each(|_| drop(too_much().expect_err("full")));
    }
    let all = worst(&tenants, 10);
    assert_eq!(in_use(&all), [("<b>", 3), ("<c>", 3), ("<d>", 2), ("<a>", 1)]);
    assert_eq!(waiting(&all), [("<c>", 2), ("<b>", 1)]);
    assert_eq!(rejected(&all), [("<d>", 4), ("<b>", 2), ("<c>", 1)]);
    let KeyLoad { in_use: used, capacity, waiting: calls, waiting_room, rejected: refused, .. } = all.in_use[1];
    assert_eq!((used, capacity, calls, waiting_room, refused), (3, 3, 2, 2, 1));
    let one = worst(&tenants, 1);
    assert_eq!((in_use(&one), waiting(&one)), (vec![("<b>", 3)], vec![("<c>", 2)]));
    assert_eq!(rejected(&one), [("<d>", 4)]);
    assert_eq!(worst(&tenants, 0).in_use, []);
}

#[test]
fn of_ten_thousand_keys_the_worst_are_found() {
    let executor = executor();
    let tenants = shown(&executor, 10_000);
    let busy = |number: usize| if number % 1_000 == 7 { 3 } else { 1 };
    let run = |number: usize| {
        let request = Request::new().cost(busy(number));
        tenants.key(&format!("{number:04}")).with(request).try_slot().expect("free")
    };
    let _running: Vec<_> = (0..10_000).map(run).collect();
    let expected: Vec<_> = (0..10).map(|thousand| (format!("<{thousand}007>"), 3)).collect();
    let worst = worst(&tenants, 11);
    let found: Vec<_> = in_use(&worst).into_iter().map(|(key, load)| (key.to_owned(), load)).collect();
    assert_eq!((&found[..10], &found[10]), (&expected[..], &("<0000>".to_owned(), 1)));
}

/// At each of these seconds, one call is rejected, and then the keys are read. Returns for each
/// reading the rejections and the seconds in which they came.
fn read_at(seconds: &[u64]) -> Vec<Option<(u64, u64)>> {
    let executor = executor();
    let tenants = shown(&executor, 1);
    let mut now = 0;
    let read = |&second: &u64| {
        executor.clock().advance(Duration::from_secs(second - now));
        now = second;
        reject(&tenants, "ann", 1);
        let worst = worst(&tenants, 10);
        let found = rejected(&worst).first().map_or(0, |(_, calls)| *calls);
        assert!(worst.period.is_some() || found == 0, "nothing is known of the past");
        Some((found, worst.period?.as_secs()))
    };
    seconds.iter().map(read).collect()
}

#[test]
fn rejections_are_those_since_an_earlier_reading_that_is_recent() {
    assert_eq!(read_at(&[5]), [None]);
    assert_eq!(read_at(&[0, 0, 3, 9, 10]), [None, None, Some((2, 3)), Some((3, 9)), Some((4, 10))]);
    // The sample of 10 s is taken then, so the one of 0 s goes on until that is old enough.
    let often = [None, Some((1, 10)), Some((2, 15)), Some((2, 10)), Some((3, 15)), Some((2, 10))];
    assert_eq!(read_at(&[0, 10, 15, 20, 25, 30]), often);
    assert_eq!(read_at(&[0, 60, 120, 240]), [None, Some((1, 60)), Some((1, 60)), Some((1, 120))]);
    // What is older than two minutes is not recent.
    assert_eq!(read_at(&[0, 121, 122]), [None, None, Some((1, 1))]);
    assert_eq!(read_at(&[0, 60, 181, 182, 192]), [None, Some((1, 60)), None, Some((1, 1)), Some((2, 11))]);
}

#[test]
fn a_partition_that_comes_later_or_again_counts_its_own_rejections() {
    let executor = executor();
    let tenants = shown(&executor, 2);
    reject(&tenants, "ann", 5);
    worst(&tenants, 10);
    executor.clock().advance(ms(20_000));
    reject(&tenants, "bob", 2);
    assert_eq!(rejected(&worst(&tenants, 10)), [("<bob>", 2)]);
    assert!(tenants.discard("ann"));
    executor.clock().advance(ms(5_000));
    reject(&tenants, "ann", 1);
    // Since the first reading: the second is too young.
    assert_eq!(rejected(&worst(&tenants, 10)), [("<bob>", 2), ("<ann>", 1)]);
    executor.clock().advance(ms(10_000));
    assert_eq!(rejected(&worst(&tenants, 10)), [("<ann>", 1)]);
}

/// The function can use the partitions, so it runs under no lock; and a call goes on if it panics.
#[test]
fn the_function_is_called_outside_locks_and_hides_a_key_for_which_it_panics() {
    static TENANTS: OnceLock<Partitions<String, FakeClock>> = OnceLock::new();
    let show = |key: &String| {
        let others = TENANTS.get().expect("built before").handle().worst_keys(10).expect("they are shown");
        assert!(key != "bob", "on purpose");
        format!("{key} after {}", others.in_use.len())
    };
    let builder = Partitions::builder_on(FakeClock::new(), "tenants").parallelism(1).max_partitions(9);
    let tenants = TENANTS.get_or_init(|| builder.show_keys(show).build().expect("valid"));
    let _running = ["ann", "bob", "cid"].map(|key| tenants.key(key).try_slot().expect("free"));
    assert_eq!(in_use(&worst(tenants, 10)), [("ann after 0", 1), ("cid after 1", 1)]);
    assert_eq!((tenants.status().handler_panics, tenants.status().active_partitions), (1, 3));
}
