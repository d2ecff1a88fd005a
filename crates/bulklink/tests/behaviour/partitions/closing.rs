//! Closing all partitions, and waiting until they are drained.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};

use bulklink::Reason;

use super::{Tenants, call, counts, is_kept, occupancy, tenants, touch, touch_each};
use crate::{executor, ms, reason, slot};

#[test]
fn closing_rejects_all_calls_and_lets_operations_go_on() {
    let mut executor = executor();
    let tenants = tenants(&executor, 2);
    let running = ["ann", "bob"].map(|key| slot(&call(&mut executor, &tenants, key)));
    let waiting = call(&mut executor, &tenants, "ann");
    assert!(tenants.close());
    assert!(!tenants.close(), "they were closed already");
    executor.run_until_idle();
    assert_eq!(reason(&waiting), Reason::Closed);
    for key in ["ann", "cid"] {
        let rejection = tenants.key(key).try_slot().expect_err("closed");
        assert_eq!(rejection.reason(), Reason::Closed);
        assert_eq!(rejection.to_string(), "bulkhead tenants: closed (2 of 2 partitions, 2 active, 2 operations)");
    }
    assert!(tenants.status().is_closed && !tenants.status().is_drained());
    drop(running);
    assert!(tenants.status().is_drained());
    assert_eq!(counts(&tenants.status().totals), [2, 0, 0, 0], "rejections after closing are not counted");
}

#[test]
fn waiting_for_the_drain_ends_with_the_last_call() {
    let mut executor = executor();
    let tenants = tenants(&executor, 2);
    let mut running = vec![slot(&call(&mut executor, &tenants, "ann")), slot(&call(&mut executor, &tenants, "bob"))];
    let watching = [(); 3].map(|()| {
        let tenants = tenants.clone();
        executor.spawn(async move { tenants.handle().closed().await })
    });
    executor.run_until_idle();
    watching[0].cancel();
    tenants.close();
    while let Some(slot) = running.pop() {
        executor.run_until_idle();
        assert!(!watching[1].is_finished(), "an operation still runs");
        drop(slot);
    }
    executor.run_until_idle();
    assert!(watching[1].is_finished() && watching[2].is_finished());
}

/// A waker is foreign code, and runs outside the lock.
#[test]
fn a_waker_woken_by_the_drain_may_use_the_partitions() {
    struct StatusReader(Tenants, AtomicU64);
    impl Wake for StatusReader {
        fn wake(self: Arc<Self>) {
            self.1.store(self.0.status().number, Ordering::Relaxed);
        }
    }
    let executor = executor();
    let tenants = tenants(&executor, 1);
    let running = tenants.key("ann").try_slot().expect("free");
    let reader = Arc::new(StatusReader(tenants.clone(), AtomicU64::new(0)));
    let (waker, mut closed) = (Waker::from(Arc::clone(&reader)), pin!(tenants.close_and_wait()));
    assert!(closed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(running);
    assert_eq!(reader.1.load(Ordering::Relaxed), 1);
}

#[test]
fn an_unpolled_call_is_rejected_as_closed_by_its_partition() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    let early = tenants.key("ann").slot();
    let closing = executor.spawn({
        let tenants = tenants.clone();
        async move { tenants.close_and_wait().await }
    });
    executor.run_until_idle();
    assert!(!closing.is_finished());
    let early = executor.spawn(early);
    executor.run_until_idle();
    assert_eq!(reason(&early), Reason::Closed);
    assert!(closing.is_finished());
}

#[test]
fn a_leased_future_delays_the_drain_until_polled_or_dropped() {
    let executor = executor();
    let mut context = Context::from_waker(Waker::noop());
    let tenants = tenants(&executor, 2);
    let running = tenants.key("ann").try_slot().expect("free");
    let [mut granted, mut waiting] = [tenants.key("ann").slot(), tenants.key("ann").slot()];
    assert!(Pin::new(&mut granted).poll(&mut context).is_pending());
    assert!(Pin::new(&mut waiting).poll(&mut context).is_pending());
    let unpolled = tenants.key("bob").slot();
    drop(running);
    let mut closing = pin!(tenants.close_and_wait());
    assert!(closing.as_mut().poll(&mut context).is_pending());
    drop(granted);
    assert!(closing.as_mut().poll(&mut context).is_pending());
    assert!(Pin::new(&mut waiting).poll(&mut context).is_ready(), "the future was rejected");
    assert!(closing.as_mut().poll(&mut context).is_pending());
    drop(unpolled);
    assert!(closing.as_mut().poll(&mut context).is_ready());
}

#[test]
fn closing_while_nothing_runs_drains_immediately() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    touch(&tenants, "ann");
    drop(tenants.handle().closed());
    executor.block_on({
        let tenants = tenants.clone();
        async move { tenants.close_and_wait().await }
    });
    assert!(tenants.status().is_drained());
}

#[test]
fn close_and_wait_removes_all_partitions_and_evicts_none() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1_000);
    for number in 0..500 {
        touch(&tenants, &number.to_string());
    }
    let running = tenants.key("7").try_slot().expect("free");
    let closing = executor.spawn({
        let tenants = tenants.clone();
        async move { tenants.close_and_wait().await }
    });
    executor.run_until_idle();
    assert_eq!((closing.is_finished(), occupancy(&tenants.status())), (false, (500, 1, 1)));
    drop(running);
    executor.run_until_idle();
    assert_eq!((closing.is_finished(), occupancy(&tenants.status())), (true, (0, 0, 0)));
    assert!(!is_kept(&tenants, "7"));
    assert_eq!(counts(&tenants.status().totals), [500, 0, 0, 0], "as in the reference");
    executor.block_on(async move { tenants.close_and_wait().await });
}

/// As in the reference: closing alone leaves all figures as they were.
#[test]
fn closing_without_waiting_keeps_the_partitions() {
    let mut executor = executor();
    let tenants = tenants(&executor, 2);
    touch_each(&tenants, ["ann", "bob"]);
    tenants.close();
    executor.block_on({
        let tenants = tenants.clone();
        async move { tenants.handle().closed().await }
    });
    assert_eq!(occupancy(&tenants.status()), (2, 0, 0));
    drop(tenants.close_and_wait());
    assert_eq!(occupancy(&tenants.status()), (2, 0, 0), "the future was not polled to its end");
}

#[test]
fn dropping_the_wait_for_the_drain_reopens_nothing() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    let _running = tenants.key("ann").try_slot().expect("free");
    drop(tenants.close_and_wait());
    assert!(tenants.status().is_closed);
}

#[test]
fn idle_partitions_can_still_be_removed_after_closing() {
    let mut executor = executor();
    let tenants = tenants(&executor, 3);
    touch_each(&tenants, ["ann", "bob"]);
    tenants.close();
    assert!(tenants.discard("ann"));
    executor.advance(ms(100));
    assert_eq!(tenants.handle().cleanup_idle(), 1);
    assert_eq!(occupancy(&tenants.status()), (0, 0, 0));
}

/// One tenant can be closed without the others.
#[test]
fn a_handle_closes_its_partition_alone() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch_each(&tenants, ["ann", "bob"]);
    tenants.partition("ann").expect("kept").close();
    let rejection = tenants.key("ann").try_slot().expect_err("closed");
    assert_eq!((rejection.reason(), rejection.partitions()), (Reason::Closed, None));
    touch(&tenants, "bob");
    assert!(tenants.discard("ann"));
    touch(&tenants, "ann");
}
