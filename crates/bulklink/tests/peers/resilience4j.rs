//! resilience4j: the tests of `Bulkhead`, `ThreadPoolBulkhead`, and their configuration.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bulklink::EventKind::{Admitted, Released, Saturated};
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, ExecuteError, Reason, Request, SubmitError};

use crate::{TestBulkhead, bulkhead, free, kinds, refused, semaphore, take};

/// resilience4j `shouldHandleBasicBulkheadOperationsInBothThreadModes`.
#[test]
fn events_tell_of_admissions_rejections_and_ends_in_order() {
    let bulkhead = bulkhead(&FakeClock::new(), 2, 0);
    let log = kinds(&bulkhead);
    let running = [take(&bulkhead, 1), take(&bulkhead, 1)];
    assert_eq!((free(&bulkhead), refused(&bulkhead, 1)), (0, Reason::Saturated));
    for (slot, left) in running.into_iter().zip([1, 2]) {
        drop(slot);
        assert_eq!(free(&bulkhead), left);
    }
    let _third = take(&bulkhead, 1);
    let expected = [Admitted, Admitted, Saturated, Released, Released, Admitted];
    assert_eq!(*log.lock().expect("no panic"), expected);
}

/// resilience4j `testToString`.
#[test]
fn the_debug_text_has_the_label() {
    let text = format!("{:?}", semaphore(2));
    assert!(text.starts_with("Bulkhead { label: \"test\""), "{text}");
}

/// resilience4j `changePermissionsCountWhileOneThreadIsRunningWithThisPermission`: there, the
/// thread that takes permits away waits until they are free. Here it never waits.
#[test]
fn a_change_of_size_waits_for_no_running_operation() {
    let bulkhead = bulkhead(&FakeClock::new(), 1, 0);
    let first = take(&bulkhead, 1);
    refused(&bulkhead, 1);
    bulkhead.resize(2).expect("open");
    assert_eq!(free(&bulkhead), 1);
    let second = take(&bulkhead, 1);
    bulkhead.resize(1).expect("open");
    let status = bulkhead.status();
    assert_eq!((status.limits.capacity, status.is_over_capacity(), status.in_flight), (1, true, 2));
    drop(first);
    assert_eq!((free(&bulkhead), refused(&bulkhead, 1)), (0, Reason::Saturated));
    drop(second);
    assert_eq!(free(&bulkhead), 1);
}

/// The numbers of free slots while an operation runs and afterwards.
fn free_in_and_after(bulkhead: &TestBulkhead, during: usize) -> (usize, usize) {
    (during, free(bulkhead))
}

/// resilience4j `should*AndReturnWithSuccess`, `should*ReturnWithException`: each way to run a
/// function in a bulkhead of one.
#[test]
fn every_way_to_run_an_operation_gives_its_slot_back() {
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = bulkhead(&executor.clock(), 1, 0);
    let clone = bulkhead.clone();
    executor.block_on(async move {
        let bulkhead = clone;
        let seen = || free(&bulkhead);
        let during = bulkhead.execute(async { seen() }).await.expect("free");
        assert_eq!(free_in_and_after(&bulkhead, during), (0, 1));
        let during = bulkhead.with(Request::new().now()).execute(async { seen() }).await.expect("free");
        assert_eq!(free_in_and_after(&bulkhead, during), (0, 1));
        let wrapped = bulkhead.wrap(|name: &'static str| async move { format!("Hello {name}") });
        assert_eq!(wrapped.call("Tom").await.expect("free"), "Hello Tom");
        assert_eq!(free(&bulkhead), 1);
        for result in [Ok(()), Err("BAM!")] {
            let answer = bulkhead.execute_fallible(async { result }).await;
            assert_eq!(answer, result.map_err(ExecuteError::Operation));
            assert_eq!(free(&bulkhead), 1);
        }
    });
    let during = bulkhead.blocking_execute(|| free(&bulkhead)).expect("free");
    assert_eq!(free_in_and_after(&bulkhead, during), (0, 1));
    for result in [Ok(()), Err("BAM!")] {
        let answer = bulkhead.owned().blocking_execute_fallible(|| result);
        assert_eq!((answer, free(&bulkhead)), (result.map_err(ExecuteError::Operation), 1));
    }
    assert_eq!((bulkhead.status().totals.finished, bulkhead.status().totals.rejected()), (8, 0));
}

/// resilience4j `shouldDecorateCompletionStageAndReturnWithExceptionAtSyncStage` and
/// `…AtAsyncStage`: the function fails before it returns its future, or the future fails.
#[test]
fn a_function_that_panics_at_any_stage_loses_no_slot() {
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = bulkhead(&executor.clock(), 1, 0);
    for at_once in [true, false] {
        let wrapped = bulkhead.wrap(move |()| {
            assert!(!at_once, "the function fails, on purpose");
            async { panic!("its future fails, on purpose") }
        });
        let task = executor.spawn(async move { wrapped.call(()).await.map(|never: ()| never) });
        let ended = catch_unwind(AssertUnwindSafe(|| executor.run_until_idle()));
        assert!(ended.is_err() && !task.is_finished());
        assert_eq!((free(&bulkhead), bulkhead.status().waiting), (1, 0));
    }
}

/// resilience4j `shouldReturnFailureWithBulkheadFullException`.
#[test]
fn a_rejection_names_the_bulkhead() {
    let bulkhead = bulkhead(&FakeClock::new(), 2, 0);
    let _running = (take(&bulkhead, 1), take(&bulkhead, 1));
    let rejection = bulkhead.blocking_execute(|| unreachable!("full")).map(|never: ()| never).expect_err("full");
    assert_eq!((rejection.label(), rejection.reason()), ("test", Reason::Saturated));
}

/// resilience4j `shouldReturnFailureWithRuntimeException`.
#[test]
fn an_operation_that_fails_beside_another_frees_only_its_own_slot() {
    let bulkhead = bulkhead(&FakeClock::new(), 2, 0);
    let _running = take(&bulkhead, 1);
    let failed = bulkhead.owned().blocking_execute_fallible(|| Err::<(), _>("BAM!"));
    assert_eq!((failed, free(&bulkhead)), (Err(ExecuteError::Operation("BAM!")), 1));
}

/// resilience4j `shouldChainDecoratedFunctions`.
#[test]
fn an_operation_can_run_in_two_bulkheads() {
    let mut executor = Executor::new(FakeClock::new());
    let [outer, inner] = [(); 2].map(|()| bulkhead(&executor.clock(), 1, 0));
    let (a, b) = (outer.clone(), inner.clone());
    let seen = executor.block_on(async move {
        let both = async { (free(&a), free(&b)) };
        a.execute(b.execute(both)).await.expect("free")
    });
    assert_eq!((seen, free(&outer), free(&inner)), (Ok((0, 0)), 1, 1));
}

fn pool(executor: &Executor, threads: usize, queue: usize) -> Bulkhead<bulklink::testing::FakeRuntime> {
    let builder = Bulkhead::builder_on(executor.runtime(), "test").parallelism(threads).waiting_room(queue);
    builder.build().expect("valid")
}

/// resilience4j (thread pool) `shouldHandleConcurrentTasksCorrectlyInBothThreadModes`,
/// `shouldExecuteRunnableAndFailWithBulkHeadFull`, `…Supplier…`, `…Callable…`.
#[test]
fn of_fifteen_closures_ten_run_and_five_are_rejected() {
    let mut executor = Executor::new(FakeClock::new());
    let pool = pool(&executor, 5, 5);
    let submitted: Vec<_> = (0..15).map(|number| pool.submit_blocking(move || number)).collect();
    let refused: Vec<_> = submitted.iter().filter_map(|submitted| submitted.as_ref().err()).collect();
    assert_eq!(refused.len(), 5);
    for error in refused {
        let SubmitError::Rejected(rejection) = error else { panic!("{error}") };
        assert_eq!((rejection.reason(), rejection.label()), (Reason::Saturated, "test"));
    }
    let results: Vec<_> = submitted.into_iter().flatten().map(|handle| executor.spawn(handle)).collect();
    executor.run_until_idle();
    let results: Vec<_> = results.iter().map(|task| task.output().expect("done").expect("it ran")).collect();
    assert_eq!(results, (0..10).collect::<Vec<_>>());
}

/// resilience4j (thread pool) `testWithSynchronousQueue`.
#[test]
fn without_a_waiting_room_a_closure_runs_at_once_or_is_rejected() {
    let executor = Executor::new(FakeClock::new());
    let pool = pool(&executor, 2, 0);
    let _running = [pool.submit_blocking(|| ()).expect("free"), pool.submit_blocking(|| ()).expect("free")];
    pool.submit_blocking(|| ()).map(drop).expect_err("full");
    let status = pool.status();
    assert_eq!((status.in_flight, status.waiting, status.limits.waiting_room), (2, 0, 0));
}
