//! A slot that was handed over is taken back, while its call collects it or gives it up.

use std::collections::BTreeSet;
use std::task::Poll;
use std::time::Duration;

use bulklink::Reason;

use crate::call::Call;
use crate::model::{model, on_a_thread};

const LIMIT: Duration = Duration::from_nanos(10);

#[test]
fn a_slot_is_collected_or_taken_back_but_not_both() {
    let outcomes = model(1, 2).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let (mut first, mut second) = (Call::new(bulkhead).queued(), Call::new(bulkhead).queued());
        drop(held);
        clock.set(10);
        let taking = on_a_thread(bulkhead, |bulkhead| bulkhead.handle().take_back_uncollected(LIMIT));
        let Poll::Ready(answer) = first.poll() else { panic!("the call was answered") };
        let taken_back = taking.join().unwrap();
        let collected = answer.is_ok();
        assert_eq!(taken_back, usize::from(!collected));
        assert_eq!(answer.as_ref().err().map(bulklink::Rejection::reason), (!collected).then_some(Reason::Uncollected));
        assert_eq!(second.wakes(), usize::from(!collected));
        assert_eq!(second.poll().is_ready(), !collected, "one slot, one call");
        assert_eq!(bulkhead.status().taken_back, u64::from(!collected));
        drop((answer, first, second));
        collected
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}

#[test]
fn a_call_that_is_dropped_while_its_slot_is_taken_back_gives_it_back_once() {
    let outcomes = model(1, 2).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let (first, second) = (Call::new(bulkhead).queued(), Call::new(bulkhead).queued());
        drop(held);
        clock.set(10);
        let taking = on_a_thread(bulkhead, |bulkhead| bulkhead.handle().take_back_uncollected(LIMIT));
        drop(first);
        let taken_back = taking.join().unwrap();
        assert_eq!(bulkhead.status().totals.abandoned, 1);
        drop(second.granted());
        taken_back
    });
    assert_eq!(outcomes, BTreeSet::from([0, 1]));
}

#[test]
fn two_that_take_back_take_each_slot_once() {
    model(1, 1).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let first = Call::new(bulkhead).queued();
        drop(held);
        clock.set(10);
        let taking = on_a_thread(bulkhead, |bulkhead| bulkhead.handle().take_back_uncollected(LIMIT));
        let taken_back = bulkhead.handle().take_back_uncollected(LIMIT);
        assert_eq!(taken_back + taking.join().unwrap(), 1);
        assert_eq!(first.answer().err(), Some(Reason::Uncollected));
    });
}

#[test]
fn a_measured_hold_is_counted_once() {
    model(1, 1).measured_holds().preemptions_if_fast(3).explore(|bulkhead| {
        let other = on_a_thread(bulkhead, |bulkhead| u64::from(bulkhead.try_slot().is_ok()));
        let here = u64::from(bulkhead.try_slot().is_ok());
        let ended = here + other.join().unwrap();
        let status = bulkhead.status();
        assert_eq!((status.holds, status.totals.finished), (ended, ended));
        ended
    });
}
