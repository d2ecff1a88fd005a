//! The store in memory, used by several threads and by wakers.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

use bulklink::plumbing::block_on;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force};
use bulklink_fleet::{MemoryStore, Name, Namespace};

use crate::scene::Scene;

fn names() -> (Namespace, Name) {
    let namespace = Namespace::new("test").unwrap();
    let name = Name::new(&namespace, "payments").unwrap();
    (namespace, name)
}

#[test]
fn transitions_of_several_threads_are_published_in_order() {
    let (store, (namespace, name)) = (Scene::new().store, names());
    let mut changes = block_on(store.changes(&namespace)).unwrap();
    let force = || (0..2_000).for_each(|_| drop(block_on(store.force(&name, None, Force::Open))));
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(force))));
    let generations: Vec<_> = (0..8_000).map(|_| block_on(changes.next()).unwrap().row.generation).collect();
    assert!(generations.is_sorted());
}

/// A waker that uses the store, and then panics.
struct Uses(MemoryStore, AtomicU64);

impl Wake for Uses {
    fn wake(self: Arc<Self>) {
        let _ = self.0.commands();
        self.1.fetch_add(1, Ordering::Relaxed);
        panic!("of a test");
    }
}

#[test]
fn wakers_may_use_the_store_and_panic() {
    let (store, (namespace, name)) = (Scene::new().store, names());
    let uses = Arc::new(Uses(store.clone(), AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&uses));
    let mut context = Context::from_waker(&waker);
    let mut changes = block_on(store.changes(&namespace)).unwrap();
    assert!(pin!(changes.next()).poll(&mut context).is_pending());
    drop(changes);
    store.stall(true);
    let mut waiting = [(); 2].map(|()| Box::pin(store.force(&name, None, Force::Open)));
    assert!(waiting.iter_mut().all(|command| command.as_mut().poll(&mut context).is_pending()));
    store.stall(false);
    assert_eq!(uses.1.load(Ordering::Relaxed), 2, "both are woken");
    block_on(store.force(&name, None, Force::Closed)).unwrap();
}
