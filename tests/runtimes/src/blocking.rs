//! Threads that block on the bulkhead of a runtime.

use std::sync::{Arc, Mutex};
use std::thread;

use bulklink::{Reason, Request};

use crate::Harness;
use crate::scene::{LIMIT, play};

/// The thread is outside the runtime, as most threads are.
pub(crate) fn limits_apply_to_blocking_threads<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let _running = scene.bulkhead.try_slot().expect("free");
            let requests = [Request::new().within(LIMIT), Request::new().before(scene.after(LIMIT))];
            for request in requests {
                let bulkhead = scene.bulkhead.clone();
                let thread = thread::spawn(move || bulkhead.with(request).blocking_slot().map(drop));
                scene.until(|_| thread.is_finished()).await;
                let rejection = thread.join().expect("no panic").expect_err("taken");
                assert_eq!(rejection.reason(), Reason::Expired);
                assert!(rejection.limit().is_some_and(|limit| rejection.waited() >= limit), "{rejection}");
            }
        },
    );
}

pub(crate) fn threads_and_tasks_share_one_fifo_queue<H: Harness>() {
    const CALLS: usize = 6;
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(CALLS),
        async |scene| {
            let order = Arc::new(Mutex::new(vec![]));
            let running = scene.bulkhead.try_slot().expect("free");
            let mut tasks = vec![];
            let mut threads = vec![];
            for number in 0..CALLS {
                let (bulkhead, order) = (scene.bulkhead.clone(), Arc::clone(&order));
                let log = move || order.lock().expect("no panic").push(number);
                if number % 2 == 0 {
                    threads.push(thread::spawn(move || bulkhead.blocking_execute(log)));
                } else {
                    tasks.push(scene.spawn(async move { bulkhead.execute(async { log() }).await }));
                }
                scene.until(|status| status.waiting == number + 1).await;
            }
            drop(running);
            for task in tasks {
                task.await.expect("it was admitted");
            }
            for thread in threads {
                scene.until(|_| thread.is_finished()).await;
                thread.join().expect("no panic").expect("it was admitted");
            }
            assert_eq!(*order.lock().expect("no panic"), (0..CALLS).collect::<Vec<_>>());
        },
    );
}
