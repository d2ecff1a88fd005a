//! Consumers and producers on separate threads.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bulklink::EventKind::Admitted;

use super::{pass, subscribe};
use crate::{bulkhead, executor};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// The occupancy of each event is that of the event before it, changed by one step.
#[test]
fn consumers_on_several_threads_receive_events_in_order() {
    const THREADS: usize = 4;
    const CALLS: usize = 500;
    let executor = executor();
    let bulkhead = bulkhead(&executor, THREADS, 0);
    let consumers = [(); 2].map(|()| subscribe(&bulkhead, usize::MAX)).map(|mut events| {
        thread::spawn(move || {
            block_on(async move {
                let mut received = vec![];
                while let Some(event) = events.recv().await {
                    received.push(event);
                }
                assert_eq!(events.dropped(), 0);
                received
            })
        })
    });
    let producers = [(); THREADS].map(|()| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || pass(&bulkhead, CALLS))
    });
    drop(bulkhead);
    for producer in producers {
        producer.join().expect("no panic");
    }
    for consumer in consumers {
        let received = consumer.join().expect("no panic");
        assert!(
            received.iter().map(|event| event.number).eq(1..=(THREADS * CALLS * 2) as u64),
            "each once, without gaps"
        );
        let mut in_flight = 0;
        for event in received {
            in_flight = if event.kind == Admitted { in_flight + 1 } else { in_flight - 1 };
            assert_eq!(event.occupancy.in_flight(), in_flight);
        }
    }
}
