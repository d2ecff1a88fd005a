//! The work that a call inside of a handler or a waker leaves for later, and how a thread waits
//! until its events have been delivered.

#[cfg(feature = "std")]
pub(crate) use with_std::{block_on, defer, finish, inside, is_inside, may_wait};
#[cfg(not(feature = "std"))]
pub(crate) use without_std::{block_on, defer, finish, inside, is_inside, may_wait};

#[cfg(feature = "std")]
mod with_std {
    use alloc::collections::VecDeque;
    use alloc::sync::Arc;
    use core::cell::{Cell, RefCell};
    use core::future::poll_fn;
    use core::mem::ManuallyDrop;
    use core::task::{Poll, Waker};

    use crate::blocking::thread::Thread;
    use crate::foreign::discard;
    use crate::gate::delivery::Events;
    use crate::gate::latch::NoTime;
    use crate::gate::shared::Shared;

    type Deferred = ManuallyDrop<VecDeque<(Arc<Shared>, Events)>>;

    // None has a destructor, so all can be used while the thread ends. The list has no memory while
    // it is empty, as at the end of each outermost call.
    #[cfg(bulklink_loom)]
    loom::thread_local! {
        static IS_INSIDE: Cell<bool> = Cell::new(false);
        static HAS_DEFERRED: Cell<bool> = Cell::new(false);
        static DEFERRED: RefCell<Deferred> = RefCell::new(ManuallyDrop::new(VecDeque::new()));
        static IS_FINISHING: Cell<bool> = Cell::new(false);
    }
    #[cfg(not(bulklink_loom))]
    std::thread_local! {
        static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
        static HAS_DEFERRED: Cell<bool> = const { Cell::new(false) };
        static DEFERRED: RefCell<Deferred> = const { RefCell::new(ManuallyDrop::new(VecDeque::new())) };
        static IS_FINISHING: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs foreign code, which does not panic, so that its calls deliver no event and wait for
    /// none: a thread that delivers would wait for itself.
    #[inline]
    pub(crate) fn inside<T>(foreign: impl FnOnce() -> T) -> T {
        let before = IS_INSIDE.with(|is_inside| is_inside.replace(true));
        let value = foreign();
        IS_INSIDE.with(|is_inside| is_inside.set(before));
        value
    }

    #[inline]
    pub(crate) fn is_inside() -> bool {
        IS_INSIDE.with(Cell::get)
    }

    /// Returns whether the call may block its thread.
    pub(crate) fn may_wait() -> bool {
        !is_inside()
    }

    /// Leaves the events of a call inside of foreign code to the outermost call of the thread.
    /// Returns whether that comes for this bulkhead once more: not if it does so already. Runs no
    /// foreign code.
    pub(crate) fn defer(shared: &Arc<Shared>, events: Events) -> bool {
        let push = |deferred: &RefCell<Deferred>| {
            let mut deferred = deferred.borrow_mut();
            if let Some((_, known)) = deferred.iter_mut().find(|(known, _)| Arc::ptr_eq(known, shared)) {
                known.join(events);
                return false;
            }
            deferred.push_back((Arc::clone(shared), events));
            true
        };
        HAS_DEFERRED.with(|has_deferred| has_deferred.set(true));
        DEFERRED.with(push)
    }

    /// Delivers the outputs that calls inside of foreign code have left. The outermost call of a
    /// thread ends with it.
    #[inline]
    pub(crate) fn finish() {
        if HAS_DEFERRED.with(Cell::get) && !is_inside() {
            deliver_deferred();
        }
    }

    /// Delivers no event of others: the outermost call has had its share of them.
    #[cold]
    fn deliver_deferred() {
        // A bulkhead that is dropped here can make calls, which come here too: no recursion.
        if IS_FINISHING.with(|is_finishing| is_finishing.replace(true)) {
            return;
        }
        while let Some((shared, events)) = next_deferred() {
            shared.settle(events, 0);
            // A handler may have dropped the bulkhead meanwhile: what that drops is foreign.
            discard(shared);
        }
        IS_FINISHING.with(|is_finishing| is_finishing.set(false));
    }

    fn next_deferred() -> Option<(Arc<Shared>, Events)> {
        DEFERRED.with(|deferred| {
            let mut deferred = deferred.borrow_mut();
            let next = deferred.pop_front();
            if next.is_none() {
                **deferred = VecDeque::new();
                HAS_DEFERRED.with(|has_deferred| has_deferred.set(false));
            }
            next
        })
    }

    /// Blocks the thread until `poll` is ready.
    pub(crate) fn block_on<T>(mut poll: impl FnMut(&Waker) -> Poll<T>) -> T {
        Thread::on(NoTime).block_on(poll_fn(|context| poll(context.waker())))
    }
}

/// A thread may be an interrupt that has stopped the one that it would wait for, and threads cannot
/// be distinguished.
#[cfg(not(feature = "std"))]
mod without_std {
    use alloc::sync::Arc;
    use core::task::{Poll, Waker};

    use crate::gate::delivery::Events;
    use crate::gate::shared::Shared;

    #[inline]
    pub(crate) fn inside<T>(foreign: impl FnOnce() -> T) -> T {
        foreign()
    }

    #[inline]
    pub(crate) fn is_inside() -> bool {
        false
    }

    pub(crate) fn may_wait() -> bool {
        false
    }

    pub(crate) fn defer(_shared: &Arc<Shared>, _events: Events) -> bool {
        unreachable!("no call is known to be inside")
    }

    #[inline]
    pub(crate) fn finish() {}

    pub(crate) fn block_on<T>(_poll: impl FnMut(&Waker) -> Poll<T>) -> T {
        unreachable!("no call may wait")
    }
}
