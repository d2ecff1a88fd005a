//! What processes that are forked must not share. Alone in its program: while a process is forked,
//! no other thread may hold a lock.

#![cfg(unix)]

use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock};
use bulklink_breaker::{Breaker, ProbeId, Settings};
use bulklink_fleet::circuits::{CircuitStore, Circuits, Operation, Reply, Row};
use bulklink_fleet::{Fleet, MemoryStore, Name, Namespace, StoreError};
use fork::{Fork, fork, waitpid};

/// A store that remembers for which probe it was asked last.
struct Asking {
    store: MemoryStore,
    probe: Arc<Mutex<Option<ProbeId>>>,
}

impl CircuitStore for Asking {
    type Changes = <MemoryStore as CircuitStore>::Changes;

    async fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        if let Operation::Admit(id) = operation {
            *self.probe.lock().expect("no panic") = Some(*id);
        }
        self.store.operate(name, settings, operation).await
    }

    async fn changes(&self, namespace: &Namespace) -> Result<Self::Changes, StoreError> {
        self.store.changes(namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        self.store.list(namespace).await
    }
}

/// Returns the identity of a new process in a fleet.
fn id() -> String {
    let executor = Executor::new(FakeClock::new());
    let store = MemoryStore::new(executor.clock());
    let fleet = Fleet::builder(store, executor.runtime()).namespace("test").build().expect("valid");
    fleet.id().to_string()
}

/// Returns the identity of the first probe of a circuit.
fn probe() -> String {
    const COOL_DOWN: Duration = Duration::from_secs(1);
    let mut executor = Executor::new(FakeClock::new());
    let probe = Arc::default();
    let store = Asking { store: MemoryStore::new(executor.clock()), probe: Arc::clone(&probe) };
    let circuits = Circuits::builder(store, executor.runtime()).namespace("test").build().expect("valid");
    let settings = Settings::consecutive(1).cool_down(COOL_DOWN);
    let breaker = circuits.share(Breaker::builder_on(executor.clock(), "payments").settings(settings)).expect("valid");
    for _ in 0..2 {
        let breaker = breaker.clone();
        executor.spawn(async move { drop(breaker.execute(async { Err::<(), _>("failed") }).await) });
        executor.run_until_idle();
        executor.advance(COOL_DOWN * 2);
    }
    let probe = probe.lock().expect("no panic").expect("the second call was one");
    format!("{:016x}", probe.0)
}

/// Returns what `work` returns in a process that is forked from this one.
fn forked(work: impl FnOnce() -> String) -> String {
    let (mut here, mut there) = UnixStream::pair().expect("the system has one");
    match fork().expect("the system has room for a process") {
        Fork::Child => {
            let is_told = there.write_all(work().as_bytes()).is_ok();
            process::exit(i32::from(!is_told));
        }
        Fork::Parent(child) => {
            drop(there);
            let mut told = String::new();
            here.read_to_string(&mut told).expect("it is text");
            assert_eq!(waitpid(child).expect("it is a child"), 0, "it has ended well");
            told
        }
    }
}

/// They share the state of a process, such as the seeds of hash maps, once a thread has used one.
#[test]
fn forked_processes_share_no_identity_of_a_process_and_of_a_probe() {
    let mut used = HashSet::new();
    for identity in [id, probe] {
        let [one, other] = [(); 2].map(|()| forked(identity));
        assert!(!one.is_empty());
        assert!(used.insert(one) && used.insert(other), "{used:?}");
    }
}
