//! Every outcome is counted once, in its own counter, and the counters add up at every moment.

use bulklink::runtime::{Clock, Instant};
use bulklink::{Bulkhead, Request, Totals};

use crate::{builder, bulkhead, call, executor, ms, slot};

/// Checks the identities of the counters, and returns the counters.
pub(super) fn add_up<R: Clock>(bulkhead: &Bulkhead<R>) -> Totals {
    let status = bulkhead.status();
    let totals = status.totals;
    assert_eq!(totals.admitted, totals.finished + totals.abandoned + status.in_flight as u64);
    let settled = totals.admitted_from_queue + totals.cancelled + totals.expired + totals.closed_while_waiting;
    assert_eq!((totals.queued, totals.settled_waiting()), (settled + status.waiting as u64, settled));
    let closed = totals.closed_before_queue + totals.closed_while_waiting;
    let rejected = totals.saturated + totals.expired + totals.expired_before_queue + closed;
    assert_eq!((totals.closed(), totals.rejected()), (closed, rejected));
    assert_eq!(totals.direct_admitted(), totals.admitted - totals.admitted_from_queue);
    totals
}

#[test]
fn each_outcome_has_a_counter_of_its_own() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(1).wait_limit(ms(50)).build().expect("valid");
    let count = |counter: fn(&Totals) -> u64| counter(&add_up(&bulkhead));

    let running = slot(&call(&mut executor, &bulkhead));
    assert_eq!(count(|totals| totals.admitted), 1);
    let waiting = call(&mut executor, &bulkhead);
    assert_eq!(count(|totals| totals.queued), 1);
    drop(call(&mut executor, &bulkhead));
    assert_eq!(count(|totals| totals.saturated), 1);
    drop(bulkhead.with(Request::new().before(Instant::EPOCH)).try_slot());
    assert_eq!(count(|totals| totals.expired_before_queue), 1);
    executor.advance(ms(50));
    assert_eq!((waiting.is_finished(), count(|totals| totals.expired)), (true, 1));
    call(&mut executor, &bulkhead).cancel();
    assert_eq!(count(|totals| totals.cancelled), 1);
    let served = call(&mut executor, &bulkhead);
    drop(running);
    executor.run_until_idle();
    assert_eq!((count(|totals| totals.finished), count(|totals| totals.admitted_from_queue)), (1, 1));
    let abandoned = call(&mut executor, &bulkhead);
    drop(slot(&served));
    abandoned.cancel();
    assert_eq!(count(|totals| totals.abandoned), 1);
    let _running = slot(&call(&mut executor, &bulkhead));
    let _closed_out = call(&mut executor, &bulkhead);
    bulkhead.close();
    assert_eq!(count(|totals| totals.closed_while_waiting), 1);
    drop(bulkhead.try_slot());
    assert_eq!(count(|totals| totals.closed_before_queue), 1);

    let sums = [Totals::rejected, Totals::closed, Totals::settled_waiting, Totals::direct_admitted];
    assert_eq!(sums.map(|sum| sum(&add_up(&bulkhead))), [5, 2, 5, 2]);
}

#[test]
fn a_cancellation_is_not_counted_as_a_rejection() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = bulkhead.try_slot().expect("free");
    call(&mut executor, &bulkhead).cancel();
    let totals = add_up(&bulkhead);
    assert_eq!((totals.cancelled, totals.rejected()), (1, 0));
}

#[test]
fn peaks_stay_after_the_load_is_gone() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 5);
    let running = [(); 2].map(|()| slot(&call(&mut executor, &bulkhead)));
    for waiting in [(); 3].map(|()| call(&mut executor, &bulkhead)) {
        waiting.cancel();
    }
    drop(running);
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.peak_in_flight, status.waiting, status.peak_waiting), (0, 2, 0, 3));
}

/// The calls admitted after 20 and 40 ms count. The call cancelled after 60 ms does not.
#[test]
fn only_the_waits_of_admitted_calls_are_counted() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let mut running = slot(&call(&mut executor, &bulkhead));
    let [first, second, third] = [(); 3].map(|()| call(&mut executor, &bulkhead));
    for next in [first, second] {
        executor.advance(ms(20));
        drop(running);
        executor.run_until_idle();
        running = slot(&next);
    }
    executor.advance(ms(20));
    third.cancel();
    let status = bulkhead.status();
    assert_eq!((status.totals.cumulative_wait(), status.totals.average_wait()), (ms(60), Some(ms(30))));
    assert_eq!(status.longest_wait(), ms(40));
}

#[test]
fn with_weights_units_are_counted_besides_operations() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(5).waiting_room(5).build().expect("valid");
    let two = Request::new().cost(2);
    let running = bulkhead.with(Request::new().cost(5)).try_slot().expect("free");
    let [served, abandoned] = [(); 2].map(|()| executor.spawn(bulkhead.with(two).slot()));
    executor.run_until_idle();
    let before = bulkhead.status();
    assert_eq!((before.in_use, before.waiting, before.waiting_units), (5, 2, 4));
    drop(running);
    abandoned.cancel();
    executor.run_until_idle();
    let _running = slot(&served);
    let (status, totals) = (bulkhead.status(), add_up(&bulkhead));
    assert_eq!((totals.queued, totals.queued_units), (2, 4));
    assert_eq!((totals.admitted, totals.admitted_units), (3, 9));
    assert_eq!((totals.admitted_from_queue, totals.admitted_from_queue_units), (2, 4));
    assert_eq!((totals.abandoned, totals.abandoned_units), (1, 2));
    assert_eq!((totals.finished, totals.finished_units), (1, 5));
    assert_eq!((status.peak_in_flight, status.peak_in_use), (2, 5));
    assert_eq!((status.peak_waiting, status.peak_waiting_units), (2, 4));
    assert_eq!(totals.admitted_units, totals.finished_units + totals.abandoned_units + status.in_use as u64);
}
