//! Slots are split, merged and written off while others are acquired and released.

use loom::future::block_on;
use loom::thread;

use bulklink::Request;

use crate::call::Call;
use crate::model::{check_identities, model, on_a_thread};

#[test]
fn the_parts_of_a_slot_are_each_given_back_once() {
    model(2, 1).explore(|bulkhead| {
        let mut whole = bulkhead.with(Request::new().cost(2)).try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let part = whole.split(1).unwrap();
        let release = thread::spawn(move || drop(part));
        drop(whole);
        release.join().unwrap();
        drop(call.granted());
        let status = bulkhead.status();
        check_identities(&status);
        assert_eq!((status.in_flight, status.in_use, status.totals.finished), (0, 0, 3));
    });
}

#[test]
fn a_part_is_given_back_beside_calls_of_the_fast_path() {
    model(2, 0).explore(|bulkhead| {
        drop([bulkhead.try_slot().unwrap(), bulkhead.try_slot().unwrap()]);
        let mut whole = bulkhead.with(Request::new().cost(2)).try_slot().unwrap();
        let release = thread::spawn(move || {
            let part = whole.split(1).unwrap();
            drop(whole);
            drop(part);
        });
        drop(bulkhead.try_slot());
        release.join().unwrap();
        drop([bulkhead.try_slot().unwrap(), bulkhead.try_slot().unwrap()]);
        let status = bulkhead.status();
        check_identities(&status);
        assert_eq!(status.in_use, 0);
    });
}

#[test]
fn slots_are_merged_while_another_is_released() {
    model(3, 1).explore(|bulkhead| {
        drop([bulkhead.try_slot().unwrap(), bulkhead.try_slot().unwrap(), bulkhead.try_slot().unwrap()]);
        let [mut first, second, third] = [(); 3].map(|()| bulkhead.owned().try_slot().unwrap());
        let release = on_a_thread(bulkhead, move |_| drop(third));
        first.merge(second).unwrap();
        release.join().unwrap();
        assert_eq!((first.cost(), bulkhead.status().in_use), (2, 2));
        drop(first);
        let status = bulkhead.status();
        check_identities(&status);
        assert_eq!((status.in_flight, status.in_use), (0, 0));
    });
}

#[test]
fn a_close_ends_when_the_last_slot_is_written_off_or_released() {
    model(2, 0).explore(|bulkhead| {
        let [lost, held] = [(); 2].map(|()| bulkhead.owned().try_slot().unwrap());
        bulkhead.close();
        let release = thread::spawn(move || drop(held));
        lost.forget();
        block_on(bulkhead.handle().closed());
        release.join().unwrap();
        let status = bulkhead.status();
        check_identities(&status);
        assert_eq!((status.in_flight, status.in_use, status.written_off), (0, 1, 1));
    });
}
