//! Submitted operations of partitions: each keeps its partition until it has ended, and no longer.

use std::future::pending;

use bulklink::runtime::Runtime;
use bulklink::testing::{Executor, FakeRuntime};
use bulklink::{JoinError, Partitions, Reason, Request, SubmitError};

use super::{Tenants, counts, occupancy};
use crate::ms;
use crate::panicking_clock::PanickingClock;
use crate::submit::by_hand::{ByHand, Treatment};
use crate::submit::{is_lost, outcome};

/// Returns partitions with one slot and one place to wait each.
fn on<R: Runtime>(runtime: R, max_partitions: usize) -> Partitions<String, R> {
    let builder = Partitions::builder_on(runtime, "tenants").parallelism(1).waiting_room(1);
    builder.max_partitions(max_partitions).build().expect("valid")
}

fn setup(max_partitions: usize) -> (Executor, Partitions<String, FakeRuntime>) {
    let executor = crate::executor();
    let tenants = on(executor.runtime(), max_partitions);
    (executor, tenants)
}

fn reason<T: std::fmt::Debug>(submitted: Result<T, SubmitError>) -> Reason {
    match submitted {
        Err(SubmitError::Rejected(rejection)) => rejection.reason(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn operations_of_each_key_run_in_the_background() {
    let (mut executor, tenants) = setup(2);
    let ann = [1, 2].map(|number| tenants.key("ann").submit(async move { number }).expect("it fits"));
    assert_eq!(reason(tenants.key("ann").submit(async {})), Reason::Saturated);
    let bob = tenants.key("bob").submit_blocking(|| 3).expect("its own partition");
    assert_eq!(reason(tenants.key("bob").with(Request::new().now()).submit(async {})), Reason::Saturated);
    assert_eq!(reason(tenants.key("bob").with(Request::new().now()).submit_blocking(|| ())), Reason::Saturated);
    let queued = tenants.key("bob").submit_blocking(|| 4).expect("it fits");
    assert_eq!(occupancy(&tenants.status()), (2, 2, 4));
    executor.run_until_idle();
    let outcomes = ann.into_iter().chain([bob, queued]).map(|mut handle| outcome(&mut handle).expect("it has ended"));
    assert_eq!(outcomes.map(|outcome| outcome.expect("it ran")).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(occupancy(&tenants.status()), (2, 0, 0));
}

#[test]
fn without_a_partition_an_operation_is_rejected_and_counted_immediately() {
    let (_executor, tenants) = setup(1);
    let _running = tenants.key("ann").try_slot().expect("free");
    assert_eq!(reason(tenants.key("bob").submit(async {})), Reason::PartitionLimit);
    assert_eq!(reason(tenants.key("bob").submit_blocking(|| ())), Reason::PartitionLimit);
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 2]);
    let costly = tenants.key("bob").with(Request::new().cost(2)).submit(async {});
    assert_eq!(reason(costly), Reason::PartitionLimit);
    tenants.close();
    assert_eq!(reason(tenants.key("ann").submit(async {})), Reason::Closed);
}

#[test]
fn an_operation_that_ends_in_any_way_leaves_its_partition() {
    let (mut executor, tenants) = setup(1);
    let request = Request::new().within(ms(10));
    let running = tenants.key("ann").submit(pending::<()>()).expect("it fits");
    let mut queued = tenants.key("ann").with(request).submit(pending::<()>()).expect("it fits");
    assert_eq!(reason(tenants.key("ann").submit(async {})), Reason::Saturated);
    assert_eq!(occupancy(&tenants.status()), (1, 1, 2));
    executor.run_until_idle();
    executor.clock().advance(ms(10));
    executor.run_until_idle();
    assert!(matches!(outcome(&mut queued), Some(Err(JoinError::Rejected(_)))));
    assert_eq!(occupancy(&tenants.status()), (1, 1, 1));
    running.cancel();
    executor.run_until_idle();
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
    for _ in 0..2 {
        let cancelled = tenants.key("ann").submit(pending::<()>()).expect("it fits");
        assert!(cancelled.cancel(), "it has not begun");
        assert_eq!(occupancy(&tenants.status()).2, 0, "a cancel frees the place immediately");
    }
    let costly = tenants.key("ann").with(Request::new().cost(2)).submit(async {});
    assert_eq!((reason(costly), occupancy(&tenants.status()).2), (Reason::InvalidCost, 0));
}

#[test]
fn an_operation_that_the_runtime_refuses_leaves_its_partition() {
    for treatment in [Treatment::Refuse, Treatment::Panic, Treatment::KeepAndPanic, Treatment::PollAndRefuse] {
        let tenants = on(ByHand::new(treatment), 1);
        assert!(tenants.key("ann").submit(pending::<()>()).is_err(), "{treatment:?}");
        assert!(tenants.key("ann").submit_blocking(|| ()).is_err(), "{treatment:?}");
        assert_eq!(occupancy(&tenants.status()), (1, 0, 0), "{treatment:?}");
    }
    let tenants = on(ByHand::new(Treatment::DropSilently), 1);
    assert!(is_lost(tenants.key("ann").submit(async {}).expect("the runtime returned no error")));
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
}

/// The clock is read for a call that begins to wait, after the partition is entered.
#[test]
fn a_call_whose_clock_panics_leaves_its_partition() {
    let clock = PanickingClock::default();
    let tenants = on(clock.clone(), 1);
    let running = tenants.key("ann").try_slot().expect("free");
    clock.panic(true);
    let submit = || drop(tenants.key("ann").submit(async {}));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(submit)).is_err());
    let block = || drop(tenants.key("ann").blocking_slot());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(block)).is_err());
    clock.panic(false);
    assert_eq!(tenants.status().leased_operations, 1);
    drop(running);
    assert_eq!(tenants.status().leased_operations, 0);
}

#[test]
fn a_wrapped_function_runs_in_the_partition_of_its_key() {
    let mut executor = crate::executor();
    let tenants: Tenants = super::tenants(&executor, 2);
    let pay = |tenant| tenants.key(tenant).wrap(async |amount: u32| format!("paid {amount}"));
    let running = tenants.key("ann").try_slot().expect("free");
    let (to_ann, to_bob) = (pay("ann"), pay("bob"));
    assert_eq!(occupancy(&tenants.status()), (2, 2, 3), "a function keeps its partition");
    let again = to_ann.clone();
    assert_eq!(occupancy(&tenants.status()), (2, 2, 4));
    let (ann, bob) =
        (executor.spawn(async move { to_ann.call(5).await }), executor.spawn(async move { to_bob.call(7).await }));
    executor.run_until_idle();
    assert_eq!(bob.output(), Some(Ok("paid 7".to_string())));
    assert!(!ann.is_finished(), "the slot of its partition is taken");
    drop(running);
    executor.run_until_idle();
    assert_eq!(ann.output(), Some(Ok("paid 5".to_string())));
    assert_eq!(occupancy(&tenants.status()), (2, 1, 1), "of the clone");
    drop(again);
    assert_eq!(occupancy(&tenants.status()), (2, 0, 0));
}

#[test]
fn a_wrapped_function_is_not_called_before_it_is_admitted() {
    let mut executor = crate::executor();
    let (tenants, bulkhead) = (super::tenants(&executor, 2), crate::bulkhead(&executor, 1, 0));
    let never_at_all = |argument| -> std::future::Ready<()> { unreachable!("it is not admitted: {argument}") };
    let (keyed, plain) = (tenants.key("ann").wrap(never_at_all), bulkhead.wrap(never_at_all));
    let _running = bulkhead.try_slot().expect("free");
    tenants.close();
    let late = tenants.key("ann").wrap(never_at_all);
    let rejected =
        executor.spawn(async move { (keyed.call("ann").await, late.call("ann").await, plain.call("ann").await) });
    executor.run_until_idle();
    let (keyed, late, plain) = rejected.output().expect("all were rejected");
    assert_eq!(keyed.expect_err("closed").reason(), Reason::Closed);
    assert_eq!(late.expect_err("it got no partition").reason(), Reason::Closed);
    assert_eq!(plain.expect_err("full").reason(), Reason::Saturated);
}
