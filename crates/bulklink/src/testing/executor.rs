//! An executor on one thread that runs the same in every test run.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::rc::Rc;
use alloc::sync::Arc;
use core::cell::RefCell;
use core::fmt;
use core::future::Future;
use core::task::Context;
use core::time::Duration;

use futures_core::future::{BoxFuture, LocalBoxFuture};

use super::FakeClock;
use super::FakeRuntime;
use crate::Clock;
use crate::gate::lock::Lock;
use crate::waker_fn::waker_fn;

/// Runs tasks on the current thread, in the order in which they were woken, on the time of a
/// [`FakeClock`].
pub struct Executor {
    clock: FakeClock,
    spawned: usize,
    /// The tasks that have not ended, by id. Shared with their handles, which can cancel them.
    tasks: Rc<RefCell<BTreeMap<usize, LocalBoxFuture<'static, ()>>>>,
    /// The ids of the tasks that were woken, in order.
    ready: Arc<Lock<VecDeque<usize>>>,
    /// The tasks of its runtime that it has not taken in yet.
    inbox: Arc<Lock<VecDeque<BoxFuture<'static, ()>>>>,
}

impl Executor {
    /// Creates an executor without tasks.
    #[must_use]
    pub fn new(clock: FakeClock) -> Self {
        let (ready, inbox) = (Arc::new(Lock::new(VecDeque::new())), Arc::new(Lock::new(VecDeque::new())));
        Executor { clock, spawned: 0, tasks: Rc::default(), ready, inbox }
    }

    /// Returns the executor as a runtime for bulkheads: operations submitted there run on this
    /// executor. It refuses them once the executor is dropped.
    #[must_use]
    pub fn runtime(&self) -> FakeRuntime {
        FakeRuntime { clock: self.clock(), inbox: Arc::downgrade(&self.inbox) }
    }

    /// Returns the clock that the executor runs on.
    #[must_use]
    pub fn clock(&self) -> FakeClock {
        self.clock.clone()
    }

    /// Adds a task. It first runs when the executor does.
    pub fn spawn<T: 'static>(&mut self, future: impl Future<Output = T> + 'static) -> Task<T> {
        let output = Rc::new(RefCell::new(None));
        let store = Rc::clone(&output);
        let id = self.spawned;
        self.spawned += 1;
        self.tasks.borrow_mut().insert(id, Box::pin(async move { *store.borrow_mut() = Some(future.await) }));
        self.ready.with(|ready| ready.push_back(id));
        Task { id, tasks: Rc::clone(&self.tasks), output }
    }

    /// Runs every task that was woken, and the tasks that they wake, until none is left.
    pub fn run_until_idle(&mut self) {
        loop {
            self.take_in();
            let Some(id) = self.ready.with(VecDeque::pop_front) else { break };
            self.run(id);
        }
    }

    /// Adds the tasks that were spawned through its runtime.
    fn take_in(&mut self) {
        while let Some(task) = self.inbox.with(VecDeque::pop_front) {
            drop(self.spawn(task));
        }
    }

    /// The task is not in the table while it runs, so that it can spawn, wake and cancel.
    fn run(&mut self, id: usize) {
        let task = self.tasks.borrow_mut().remove(&id);
        let Some(mut task) = task else { return };
        let ready = Arc::clone(&self.ready);
        let waker = waker_fn(move || ready.with(|ready| ready.push_back(id)));
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.tasks.borrow_mut().insert(id, task);
        }
    }

    /// Runs all tasks until this one has ended, and returns its output. While no task can run, time
    /// moves to the next timer.
    ///
    /// # Panics
    ///
    /// If no task can run and no timer is left: the call would never return.
    pub fn block_on<T: 'static>(&mut self, future: impl Future<Output = T> + 'static) -> T {
        let task = self.spawn(future);
        loop {
            self.run_until_idle();
            if let Some(output) = task.output() {
                return output;
            }
            let due = self.clock.next_timer().expect("no task can run, and no timer is left to wait for");
            self.clock.set(due.max(self.clock.now()));
        }
    }

    /// Moves the time forward, stops at every timer on the way, and runs all tasks to idle there
    /// and at the end.
    pub fn advance(&mut self, by: Duration) {
        self.run_until_idle();
        let end = self.clock.now() + by;
        while let Some(due) = self.clock.next_timer().filter(|&due| due <= end) {
            self.clock.set(due.max(self.clock.now()));
            self.run_until_idle();
        }
        self.clock.set(end.max(self.clock.now()));
        self.run_until_idle();
    }
}

impl Drop for Executor {
    /// Drops all tasks, also those with a [`Task`] that is still held.
    fn drop(&mut self) {
        let tasks = core::mem::take(&mut *self.tasks.borrow_mut());
        drop(tasks);
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("clock", &self.clock)
            .field("spawned", &self.spawned)
            .field("tasks", &self.tasks.borrow().keys())
            .field("ready", &self.ready.with(|ready| ready.clone()))
            .field("inbox", &self.inbox.with(|inbox| inbox.len()))
            .finish()
    }
}

/// A task of an [`Executor`]. Dropping it does not stop the task.
pub struct Task<T> {
    id: usize,
    tasks: Rc<RefCell<BTreeMap<usize, LocalBoxFuture<'static, ()>>>>,
    output: Rc<RefCell<Option<T>>>,
}

impl<T> Task<T> {
    /// Returns whether the task has ended and its output has not been taken.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.output.borrow().is_some()
    }

    /// Takes the output, if the task has ended.
    #[must_use]
    pub fn output(&self) -> Option<T> {
        self.output.borrow_mut().take()
    }

    /// Cancels the task. Does nothing to a task that runs this call itself, or that has ended.
    pub fn cancel(&self) {
        let task = self.tasks.borrow_mut().remove(&self.id);
        drop(task);
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", &self.id).field("is_finished", &self.is_finished()).finish_non_exhaustive()
    }
}
