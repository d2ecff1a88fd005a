//! A store that does not answer for one of its rows, such as one that another session has locked.

use std::future::{Future, pending};

use bulklink_breaker::store::{
    Asked, CircuitStore, Force, Forced, MemoryStore, Name, Namespace, Report, Reported, Row, StoreError,
};
use bulklink_breaker::{Breaker, Circuits, ProbeId, Settings};

use crate::scene::Scene;

struct Locked(MemoryStore);

impl Locked {
    async fn unless_locked<T>(
        &self,
        name: &Name,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if name.as_str().contains("locked") { pending().await } else { answer.await }
    }
}

impl CircuitStore for Locked {
    type Changes = <MemoryStore as CircuitStore>::Changes;

    async fn load(&self, name: &Name, settings: &Settings) -> Result<Row, StoreError> {
        self.unless_locked(name, self.0.load(name, settings)).await
    }

    async fn admit_probe(&self, name: &Name, settings: &Settings, id: ProbeId) -> Result<Asked, StoreError> {
        self.unless_locked(name, self.0.admit_probe(name, settings, id)).await
    }

    async fn report(&self, name: &Name, settings: &Settings, report: &Report) -> Result<Reported, StoreError> {
        self.unless_locked(name, self.0.report(name, settings, report)).await
    }

    async fn force(&self, name: &Name, expected: Option<u64>, force: Force) -> Result<Forced, StoreError> {
        self.unless_locked(name, self.0.force(name, expected, force)).await
    }

    async fn changes(&self, namespace: &Namespace) -> Result<Self::Changes, StoreError> {
        self.0.changes(namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        self.0.list(namespace).await
    }
}

#[test]
fn a_row_that_is_locked_takes_the_store_from_no_other_circuit() {
    let mut scene = Scene::new();
    let circuits = Circuits::builder(Locked(scene.store.clone()), scene.executor.runtime()).build().unwrap();
    let share = |label| {
        let breaker = Breaker::builder_on(scene.executor.clock(), label).settings(scene.settings);
        circuits.share(breaker).unwrap()
    };
    let (locked, free) = (share("locked"), share("free"));
    scene.advance(500);
    for _ in 0..100 {
        scene.advance(100);
        assert!(free.sharing().unwrap().is_connected);
        assert_eq!(locked.sharing().unwrap().error, Some(StoreError::TimedOut));
    }
}
