//! The work that scenes are made of. Ours and the peers' go through the same functions, and differ only in the call.

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

/// Polls once, without an executor. As an `await` does it, in the code of the caller.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is measured is the code of the caller")]
pub fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The output of a future that needs not wait. It is made where it is pinned, as an `await` does it: futures are large enough for
/// a move to show.
///
/// # Panics
///
/// If it waits.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is measured is the code of the caller")]
pub fn now<F: Future>(make: impl FnOnce() -> F) -> F::Output {
    ready(pin!(make()))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "what is measured is the code of the caller")]
fn ready<F: Future>(future: Pin<&mut F>) -> F::Output {
    match poll(future) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("waits, though there should be room"),
    }
}

fn pending<F: Future>(future: Pin<&mut F>) {
    assert!(poll(future).is_pending(), "has a place, though there should be no room");
}

/// `call` and dropping what it answers, over and over.
pub fn repeat<T>(operations: usize, meter: Meter<'_>, call: impl Fn() -> T) {
    meter(&mut || {
        for _ in 0..operations {
            drop(black_box(call()));
        }
    });
}

/// [`repeat`] with the keys, one after the other and over again.
pub fn repeat_by<T>(keys: Range<u64>, operations: usize, meter: Meter<'_>, call: impl Fn(u64) -> T) {
    let mut keys = keys.cycle();
    meter(&mut || {
        for key in keys.by_ref().take(operations) {
            drop(black_box(call(key)));
        }
    });
}

/// Acquire and release, while nobody waits.
pub fn take<F: Future<Output: Answer>>(operations: usize, meter: Meter<'_>, acquire: impl Fn() -> F) {
    repeat(operations, meter, || now(&acquire).permit());
}

/// [`repeat`] on several threads at once. Each does all operations.
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

/// With one permit in all and `waiting` in the queue: release, which grants to the head; poll it; queue again behind the rest.
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

/// A waiter that is dropped, with so many waiting, from the middle of the queue or from its head.
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

/// The beginning of a wait, timer included: a future made and polled for the first time, while there is no room.
pub fn enqueue<F: Future>(operations: usize, meter: Meter<'_>, acquire: impl Fn() -> F) {
    let runtime = tokio_runtime();
    let _entered = runtime.enter();
    let mut line: Vec<_> = (0..2 * operations).map(|_| Box::pin(None)).collect();
    let mut places = line.iter_mut();
    meter(&mut || {
        for place in places.by_ref().take(operations) {
            place.set(Some(acquire()));
            place.as_mut().as_pin_mut().into_iter().for_each(pending);
        }
    });
}

/// Tasks on one thread of tokio's, each of which acquires, yields while it holds, and releases, over and over. The operations
/// are shared out among them.
///
/// # Panics
///
/// If a task does.
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
