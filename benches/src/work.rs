//! The work that scenes are made of. Ours and the peers' use the same functions and differ in one
//! call.

use std::future::Future;
use std::hint::black_box;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::thread;

use tokio::task::yield_now;

use crate::peers::{Answer, tokio_runtime};
use crate::scene::Meter;

/// Polls once, without an executor. It is inlined into the caller, as the poll of an `await` is.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the measured code is the caller's")]
pub fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns the output of a future that is ready at its first poll. The future is made where it is
/// pinned, as an `await` does it: a future is large enough for a move to show.
///
/// # Panics
///
/// If the future is not ready.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the measured code is the caller's")]
pub fn now<F: Future>(make: impl FnOnce() -> F) -> F::Output {
    ready(pin!(make()))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the measured code is the caller's")]
fn ready<F: Future>(future: Pin<&mut F>) -> F::Output {
    match poll(future) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the call waits, though there should be room"),
    }
}

fn pending<F: Future>(future: Pin<&mut F>) {
    assert!(poll(future).is_pending(), "the call is admitted, though there should be no room");
}

/// Repeats `call`, and drops each result.
pub fn repeat<T>(operations: usize, meter: Meter<'_>, call: impl Fn() -> T) {
    meter(&mut || {
        for _ in 0..operations {
            drop(black_box(call()));
        }
    });
}

/// Does the same as [`repeat`] with one key after the other, and the first again after the last.
pub fn repeat_by<T>(keys: Range<u64>, operations: usize, meter: Meter<'_>, call: impl Fn(u64) -> T) {
    let mut keys = keys.cycle();
    meter(&mut || {
        for key in keys.by_ref().take(operations) {
            drop(black_box(call(key)));
        }
    });
}

/// Acquires and releases, without waiters.
pub fn take<F: Future<Output: Answer>>(operations: usize, meter: Meter<'_>, acquire: impl Fn() -> F) {
    repeat(operations, meter, || now(&acquire).permit());
}

/// Does the same as [`repeat`] on several threads in parallel. Each does all operations.
pub fn on_threads<T>(threads: usize, operations: usize, meter: Meter<'_>, call: impl Fn() -> T + Sync) {
    let start = Barrier::new(threads);
    let work = || {
        start.wait();
        for _ in 0..operations {
            drop(black_box(call()));
        }
    };
    meter(&mut || {
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
    });
}

/// Moves a single permit along a queue of `waiting` waiters. Each operation releases, which grants
/// to the head, polls the head, and queues it again behind the rest.
pub fn cycle<F: Future<Output: Answer>>(waiting: usize, operations: usize, meter: Meter<'_>, acquire: impl Fn() -> F) {
    let mut held = Some(now(&acquire).permit());
    let mut line: Vec<_> = (0..waiting).map(|_| Box::pin(acquire())).collect();
    for waiter in &mut line {
        pending(waiter.as_mut());
    }
    let mut next = 0;
    meter(&mut || {
        for _ in 0..operations {
            drop(held.take());
            held = Some(ready(line[next].as_mut()).permit());
            line[next].set(acquire());
            pending(line[next].as_mut());
            next = if next + 1 == waiting { 0 } else { next + 1 };
        }
    });
    drop(line);
}

/// Drops waiters of a queue of `waiting`, one after the other, beginning with number `first`.
pub fn cancel<F: Future<Output: Answer>>(
    (waiting, first): (usize, usize),
    operations: usize,
    meter: Meter<'_>,
    acquire: impl Fn() -> F,
) {
    let held = now(&acquire).permit();
    let mut line: Vec<_> = (0..waiting).map(|_| Box::pin(Some(acquire()))).collect();
    line.iter_mut().filter_map(|waiter| waiter.as_mut().as_pin_mut()).for_each(pending);
    let mut victims = line[first..].iter_mut();
    meter(&mut || victims.by_ref().take(operations).for_each(|waiter| waiter.set(None)));
    drop(line);
    drop(held);
}

/// Begins waits, timer included: makes each future and polls it once, while there is no room. The
/// queue was as long before, so neither its memory nor the futures' is new.
pub fn enqueue<F: Future>(operations: usize, meter: Meter<'_>, acquire: impl Fn() -> F) {
    let runtime = tokio_runtime();
    let _entered = runtime.enter();
    let mut line: Vec<_> = (0..2 * operations).map(|_| Box::pin(None)).collect();
    let queue = |place: &mut Pin<Box<Option<F>>>| {
        place.set(Some(acquire()));
        place.as_mut().as_pin_mut().into_iter().for_each(pending);
    };
    line.iter_mut().for_each(queue);
    for place in &mut line {
        place.set(None);
    }
    let mut places = line.iter_mut();
    meter(&mut || places.by_ref().take(operations).for_each(queue));
}

/// Reads a clock as often as a measured wait does.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the measured code is the caller's")]
pub fn read_twice<T>(read: impl Fn() -> T) {
    black_box((read(), read()));
}

/// Runs tasks on one thread of tokio's. Each acquires, yields while it holds the permit, and
/// releases, again and again. The tasks divide the operations among them.
///
/// # Panics
///
/// If a task panics.
pub fn tasks<F>(tasks: usize, operations: usize, meter: Meter<'_>, acquire: impl Fn() -> F + Copy + Send + 'static)
where
    F: Future<Output: Answer<Permit: Send>> + Send + 'static,
{
    let runtime = tokio_runtime();
    let task = move || async move {
        for _ in 0..operations / tasks {
            let permit = acquire().await.permit();
            yield_now().await;
            drop(permit);
        }
    };
    meter(&mut || {
        runtime.block_on(async {
            let spawned: Vec<_> = (0..tasks).map(|_| tokio::spawn(task())).collect();
            for task in spawned {
                task.await.expect("no task panics");
            }
        });
    });
}
