//! A cancel that comes as an operation begins. Cloning a waker is code of the runtime's, and may
//! run anything: here it cancels.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

use bulklink::JoinHandle;

use super::by_hand::{ByHand, Manner};
use super::{is_cancelled, on, settled};

/// Cancels at one of the clones of a waker.
struct Hook {
    clones_before: usize,
    handle: Rc<JoinHandle<()>>,
    answer: Rc<Cell<Option<bool>>>,
}

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());

/// No clone counts as the same waker, so each poll leaves a new one wherever it leaves any.
fn clone(number: *const ()) -> RawWaker {
    let due = HOOK.with_borrow_mut(|hook| {
        hook.take_if(|hook| {
            let is_due = hook.clones_before == 0;
            hook.clones_before = hook.clones_before.saturating_sub(1);
            is_due
        })
    });
    if let Some(hook) = due {
        hook.answer.set(Some(hook.handle.cancel()));
    }
    RawWaker::new(number.wrapping_byte_add(1), &VTABLE)
}

fn waker() -> Waker {
    // SAFETY: the functions take the data for a number and never follow it, on any thread.
    unsafe { Waker::new(ptr::null(), &VTABLE) }
}

/// Polls an operation to its end, with a cancel at one of the clones. Returns whether there was
/// such a clone.
fn cancel_at_clone(clones_before: usize, is_queued: bool) -> bool {
    let runtime = ByHand::new(Manner::Keep);
    let bulkhead = on(runtime.clone(), 1, 1);
    let running = is_queued.then(|| bulkhead.try_slot_owned().expect("free"));
    let is_polled = Arc::new(AtomicBool::new(false));
    let operation = {
        let is_polled = Arc::clone(&is_polled);
        async move {
            is_polled.store(true, SeqCst);
            pending::<()>().await;
        }
    };
    let handle = Rc::new(bulkhead.submit(operation).expect("there is room"));
    let answer = Rc::new(Cell::new(None));
    HOOK.set(Some(Hook { clones_before, handle: Rc::clone(&handle), answer: Rc::clone(&answer) }));
    let mut task = runtime.pop().expect("submitted");
    let waker = waker();
    let mut poll = || task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
    let ended_early = poll();
    drop(running);
    let has_ended = ended_early || (0..3).any(|_| poll());
    let unused = HOOK.take();
    let Some(unbegun) = answer.get() else { return false };
    assert!(unused.is_none() && has_ended, "cancelled at clone {clones_before}");
    let totals = bulkhead.status().totals;
    let finished = totals.finished - u64::from(is_queued);
    let has_run = is_polled.load(SeqCst);
    let agreed = if has_run { (false, 1, 0) } else { (true, 0, 1) };
    let told = (unbegun, finished, totals.abandoned + totals.cancelled);
    assert_eq!(told, agreed, "cancelled at clone {clones_before}, queued: {is_queued}, has run: {has_run}");
    assert!(is_cancelled(Rc::into_inner(handle).expect("the hook is gone")));
    settled(&bulkhead);
    true
}

#[test]
fn a_cancel_between_the_start_and_the_first_poll_agrees_with_the_totals() {
    for is_queued in [false, true] {
        let clones = (0..100).take_while(|&clones_before| cancel_at_clone(clones_before, is_queued)).count();
        assert!((2..100).contains(&clones), "at the start, and at a later poll: {clones}");
    }
}
