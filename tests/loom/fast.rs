//! The fast path: the word and the lock used at the same time. Under loom a count has one bit, so
//! every other step overflows into the gate.

use std::collections::BTreeSet;
use std::sync::Arc;

use bulklink::{EventKind, Reason, Request};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::call::Call;
use crate::model::{TestBulkhead, check_identities, model, on_a_thread, use_a_slot};
use crate::recorder::Recorder;

/// Uses this many slots at the same time, so that the word offers as many afterwards.
fn warm(bulkhead: &TestBulkhead, slots: usize) {
    drop((0..slots).map(|_| bulkhead.try_slot().unwrap()).collect::<Vec<_>>());
}

#[test]
fn counts_that_overflow_lose_nothing() {
    model(2, 0).explore(|bulkhead| {
        warm(bulkhead, 2);
        let other = on_a_thread(bulkhead, |bulkhead| {
            drop(bulkhead.try_slot().unwrap());
            drop(bulkhead.try_slot().unwrap());
        });
        drop(bulkhead.try_slot().unwrap());
        other.join().unwrap();
        let status = bulkhead.status();
        assert_eq!((status.totals.admitted, status.totals.finished, status.totals.rejected()), (5, 5, 0));
    });
}

#[test]
fn rejections_that_overflow_lose_nothing() {
    model(1, 0).explore(|bulkhead| {
        let held = bulkhead.try_slot().unwrap();
        let work = |bulkhead: &TestBulkhead| {
            for _ in 0..2 {
                let rejection = bulkhead.try_slot().unwrap_err();
                assert_eq!(rejection.reason(), Reason::Saturated);
                assert_eq!((rejection.occupancy().in_flight(), rejection.occupancy().capacity()), (1, 1));
            }
        };
        let other = on_a_thread(bulkhead, work);
        work(bulkhead);
        other.join().unwrap();
        assert_eq!(bulkhead.status().totals.saturated, 4);
        drop(held);
    });
}

#[test]
fn try_slot_never_fails_while_a_slot_is_free() {
    model(2, 0).explore(|bulkhead| {
        warm(bulkhead, 2);
        let other = on_a_thread(bulkhead, |bulkhead| {
            drop(bulkhead.try_slot().unwrap());
            check_identities(&bulkhead.status());
        });
        drop(bulkhead.try_slot().unwrap());
        other.join().unwrap();
    });
}

#[test]
fn a_status_is_of_one_moment() {
    let seen = model(2, 0).explore(|bulkhead| {
        warm(bulkhead, 2);
        let other = on_a_thread(bulkhead, use_a_slot);
        let status = bulkhead.status();
        check_identities(&status);
        other.join().unwrap();
        (status.in_flight, status.totals.admitted)
    });
    assert_eq!(seen, BTreeSet::from([(0, 2), (1, 3), (0, 3)]));
}

#[test]
fn a_new_peak_is_never_missed() {
    let peaks = model(3, 0).preemptions(3).explore(|bulkhead| {
        let held = bulkhead.try_slot().unwrap();
        let other = on_a_thread(bulkhead, use_a_slot);
        let mine = bulkhead.try_slot().unwrap();
        // Read as soon as three slots can have been in use.
        let overlap = bulkhead.status().in_flight;
        drop(mine);
        other.join().unwrap();
        drop(held);
        let peak = bulkhead.status().peak_in_flight;
        assert!(peak >= overlap && peak >= 2);
        peak
    });
    assert_eq!(peaks, BTreeSet::from([2, 3]));
}

#[test]
fn a_holder_of_a_slot_sees_the_previous_holders_writes() {
    model(1, 0).explore(|bulkhead| {
        warm(bulkhead, 1);
        let entries = Arc::new(AtomicUsize::new(0));
        let work = {
            let entries = Arc::clone(&entries);
            move |bulkhead: &TestBulkhead| {
                let admitted = bulkhead.try_slot().ok().map(|_slot| {
                    let before = entries.load(Ordering::Relaxed);
                    entries.store(before + 1, Ordering::Relaxed);
                });
                usize::from(admitted.is_some())
            }
        };
        let other = on_a_thread(bulkhead, work.clone());
        let admitted = work(bulkhead) + other.join().unwrap();
        assert_eq!(entries.load(Ordering::Relaxed), admitted);
        assert_eq!(bulkhead.status().totals.saturated, 2 - admitted as u64);
    });
}

#[test]
fn after_shrinking_no_call_is_admitted_until_slots_are_released() {
    model(2, 0).explore(|bulkhead| {
        warm(bulkhead, 2);
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let release = thread::spawn(move || drop(one));
        bulkhead.resize(1).unwrap();
        assert!(bulkhead.try_slot().is_err(), "one slot is still in use");
        release.join().unwrap();
        assert!(bulkhead.try_slot().is_err());
        drop(other);
        drop(bulkhead.try_slot().unwrap());
    });
}

#[test]
fn a_resize_ends_admissions_on_the_old_capacity() {
    let outcomes = model(2, 0).explore(|bulkhead| {
        warm(bulkhead, 2);
        let held = bulkhead.try_slot().unwrap();
        let other = on_a_thread(bulkhead, |bulkhead| bulkhead.owned().try_slot().is_ok());
        bulkhead.resize(1).unwrap();
        let in_flight = bulkhead.status().in_flight;
        let admitted = other.join().unwrap();
        drop(held);
        (admitted, in_flight)
    });
    // The other call is admitted only before the resize. Its slot may outlive the resize.
    assert_eq!(outcomes, BTreeSet::from([(false, 1), (true, 1), (true, 2)]));
}

#[test]
fn closing_ends_admissions_by_the_word() {
    let admitted = model(1, 0).explore(|bulkhead| {
        warm(bulkhead, 1);
        let other = on_a_thread(bulkhead, |bulkhead| {
            let slot = bulkhead.try_slot();
            (slot.is_ok(), slot.err().map(|rejection| rejection.reason()))
        });
        bulkhead.close();
        assert_eq!(bulkhead.try_slot().unwrap_err().reason(), Reason::Closed);
        let (admitted, reason) = other.join().unwrap();
        assert!(admitted || reason == Some(Reason::Closed));
        let totals = bulkhead.status().totals;
        assert_eq!((totals.admitted, totals.closed()), (1 + u64::from(admitted), 2 - u64::from(admitted)));
        admitted
    });
    assert_eq!(admitted, BTreeSet::from([false, true]));
}

#[test]
fn the_queue_takes_the_word_away_and_gives_it_back() {
    model(1, 1).explore(|bulkhead| {
        warm(bulkhead, 1);
        let held = bulkhead.owned().try_slot().unwrap();
        let release = thread::spawn(move || drop(held));
        let mut call = Call::new(bulkhead);
        match call.poll() {
            std::task::Poll::Ready(slot) => drop(slot.unwrap()),
            std::task::Poll::Pending => {
                release.join().unwrap();
                drop(call.granted());
                drop(bulkhead.try_slot().unwrap());
                return;
            }
        }
        release.join().unwrap();
        drop(bulkhead.try_slot().unwrap());
    });
}

#[test]
fn the_word_rejects_only_while_the_waiting_room_is_full() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let first = Call::new(bulkhead).queued();
        let leave = thread::spawn(move || drop(first));
        let mut second = Call::new(bulkhead);
        let rejected = match second.poll() {
            std::task::Poll::Ready(answer) => {
                let rejection = answer.unwrap_err();
                assert_eq!((rejection.occupancy().waiting(), rejection.occupancy().in_use()), (1, 1));
                true
            }
            std::task::Poll::Pending => false,
        };
        leave.join().unwrap();
        drop(held);
        if !rejected {
            drop(second.granted());
        }
        let totals = bulkhead.status().totals;
        assert_eq!((totals.saturated, totals.cancelled), (u64::from(rejected), 1));
        rejected
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}

#[test]
fn a_rejection_is_reported_or_precedes_the_handler() {
    let reported = model(1, 0).explore(|bulkhead| {
        let held = bulkhead.try_slot().unwrap();
        let other = on_a_thread(bulkhead, |bulkhead| assert!(bulkhead.try_slot().is_err()));
        let recorder = Recorder::attached(bulkhead);
        let counted_before = bulkhead.status().totals.saturated;
        other.join().unwrap();
        recorder.detach(bulkhead);
        let reported = recorder.kinds().iter().filter(|kind| **kind == EventKind::Saturated).count();
        assert!(
            counted_before + reported as u64 >= 1,
            "the rejection was counted after the handler was added, and not reported"
        );
        assert_eq!(bulkhead.status().totals.saturated, 1);
        drop(held);
        reported
    });
    assert_eq!(reported, BTreeSet::from([0, 1]));
}

#[test]
fn a_new_handler_misses_no_later_admission_or_release() {
    model(1, 0).explore(|bulkhead| {
        warm(bulkhead, 1);
        let other = on_a_thread(bulkhead, use_a_slot);
        let recorder = Recorder::attached(bulkhead);
        let before = bulkhead.status();
        other.join().unwrap();
        recorder.detach(bulkhead);
        let after = bulkhead.status();
        let count = |wanted| recorder.kinds().iter().filter(|kind| **kind == wanted).count() as u64;
        assert!(count(EventKind::Admitted) >= after.totals.admitted - before.totals.admitted);
        assert!(count(EventKind::Released) >= after.totals.finished - before.totals.finished);
    });
}

#[test]
fn a_heavy_request_holds_the_word_until_it_is_released() {
    model(2, 0).explore(|bulkhead| {
        warm(bulkhead, 2);
        let other = on_a_thread(bulkhead, |bulkhead| {
            let heavy = bulkhead.with(Request::new().cost(2)).try_slot();
            if heavy.is_ok() {
                assert!(bulkhead.try_slot().is_err(), "both units are taken");
            }
        });
        drop(bulkhead.try_slot());
        other.join().unwrap();
    });
}

#[test]
fn no_call_overtakes_a_waiter_by_the_word() {
    model(1, 1).explore(|bulkhead| {
        warm(bulkhead, 1);
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let pass = on_a_thread(bulkhead, |bulkhead| bulkhead.try_slot().is_ok());
        drop(held);
        assert!(!pass.join().unwrap(), "the slot belongs to the waiter");
        drop(call.granted());
        drop(bulkhead.try_slot().unwrap());
    });
}

#[test]
fn a_slot_released_during_a_cancel_returns_to_the_word() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        warm(bulkhead, 1);
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        let leave = thread::spawn(move || drop(call));
        drop(held);
        leave.join().unwrap();
        drop(bulkhead.try_slot().unwrap());
        let totals = bulkhead.status().totals;
        assert_eq!((totals.admitted, totals.finished), (3 + totals.abandoned, 3));
        (totals.cancelled, totals.abandoned)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0)]));
}

/// The large request uses the lock and the small one the word, and they exclude each other.
#[test]
fn holders_by_lock_and_by_word_see_each_others_writes() {
    model(2, 0).explore(|bulkhead| {
        warm(bulkhead, 2);
        let entries = Arc::new(AtomicUsize::new(0));
        let work = {
            let entries = Arc::clone(&entries);
            move |bulkhead: &TestBulkhead, request| {
                let admitted = bulkhead.with(request).try_slot().ok().map(|_slot| {
                    let before = entries.load(Ordering::Relaxed);
                    entries.store(before + 1, Ordering::Relaxed);
                });
                usize::from(admitted.is_some())
            }
        };
        let other = on_a_thread(bulkhead, {
            let work = work.clone();
            move |bulkhead| work(bulkhead, Request::new().cost(2))
        });
        let admitted = work(bulkhead, Request::new()) + other.join().unwrap();
        assert_eq!(entries.load(Ordering::Relaxed), admitted);
    });
}

#[test]
fn a_call_rejected_as_closed_sees_earlier_writes() {
    let closed = model(1, 0).explore(|bulkhead| {
        let done = Arc::new(AtomicUsize::new(0));
        let other = on_a_thread(bulkhead, {
            let done = Arc::clone(&done);
            move |bulkhead| {
                let closed = bulkhead.try_slot().is_err();
                assert!(!closed || done.load(Ordering::Relaxed) == 1);
                closed
            }
        });
        done.store(1, Ordering::Relaxed);
        bulkhead.close();
        other.join().unwrap()
    });
    assert_eq!(closed, BTreeSet::from([false, true]));
}
