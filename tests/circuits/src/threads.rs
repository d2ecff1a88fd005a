//! Processes with calls and tasks on several threads, in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use bulklink::runtime::{Clock, Spawn, Timer};
use bulklink_breaker::{Breaker, Call, Counts, Settings, State};
use bulklink_fleet::circuits::{CircuitStore, Circuits, Row};

use crate::site::{FOREVER, Site};
use crate::subject::{PATIENCE, name, wait_until};

const PROCESSES: u32 = 3;
/// Of each process.
const TASKS: u32 = 4;
/// Of each task, while the circuit is closed.
const CALLS: u32 = 100;
const PROBES: u32 = 2;
const ROUNDS: u64 = 5;

/// So many failures of all processes open the circuit.
const FAILURES: u32 = PROCESSES * TASKS;

fn settings() -> Settings {
    let settings = Settings::over(FOREVER).failures(FAILURES).cool_down(Duration::from_millis(20));
    settings.longest_cool_down(Duration::from_millis(20)).probes(PROBES).close_after(PROBES).probe_lease(FOREVER)
}

/// What all tasks have in common.
struct Scene<S: Site> {
    site: S,
    store: S::Store,
    breakers: Vec<Breaker>,
    /// Probes that run now, and the most that ever ran.
    running: AtomicU32,
    most: AtomicU32,
}

/// In each round, every outcome of all processes counts once, the circuit opens for all, no more
/// probes run than may, and it closes for all.
pub fn processes_on_threads_share_a_circuit<S: Site>(site: &S) {
    let circuits = || {
        let circuits = Circuits::builder(site.store(), site.runtime()).namespace("test");
        let circuits = circuits.store_timeout(FOREVER).flush(Duration::from_millis(5));
        site.block_on(async { circuits.build() }).expect("all is valid")
    };
    let share = |_| circuits().share(Breaker::builder_on(site.runtime(), "threads").settings(settings()));
    let breakers = (0..PROCESSES).map(|process| share(process).expect("all is valid")).collect();
    let (running, most) = <(AtomicU32, AtomicU32)>::default();
    let scene = Arc::new(Scene { site: site.clone(), store: site.store(), breakers, running, most });
    scene.wait_for_all("connected", is_connected);
    for _ in 0..ROUNDS {
        scene.run_round();
    }
    assert_eq!(scene.most.load(Ordering::SeqCst), PROBES);
    assert!(scene.breakers.iter().all(is_connected));
}

fn is_connected(breaker: &Breaker) -> bool {
    breaker.status().is_connected.expect("it is shared")
}

impl<S: Site> Scene<S> {
    fn run_round(self: &Arc<Self>) {
        let before = self.row();
        assert_eq!((before.state, before.counts), (State::Closed, Counts::default()));
        self.run_all(|_, breaker| async move {
            for _ in 0..CALLS {
                breaker.execute(async { Ok::<_, ()>(()) }).await.expect("it is closed");
            }
        });
        let successes = u64::from(PROCESSES * TASKS * CALLS);
        wait_until("all successes count", || self.row().counts.calls >= successes);
        assert_eq!(self.row().counts, Counts { calls: successes, ..Counts::default() });
        // The last of these failures opens it, wherever that is.
        self.run_all(|_, breaker| async move { breaker.admit().expect("the last failure is one of these").fail() });
        self.wait_for_all("open", |breaker| breaker.status().circuit.state != State::Closed);
        self.run_all(|scene, breaker| async move {
            while breaker.status().circuit.state != State::Closed {
                match breaker.ask().await {
                    Ok(call) if call.is_probe() => scene.probe(call).await,
                    // It was closed just now.
                    Ok(call) => call.ignore(),
                    Err(_) => scene.sleep(1).await,
                }
            }
        });
        self.wait_for_all("closed", |breaker| breaker.status().circuit.state == State::Closed);
        assert_eq!(self.row().generation, before.generation + 3, "open, half-open, closed");
    }

    /// Runs until as many as may run at once have done so, and for as long as others need to come
    /// in between.
    async fn probe(&self, call: Call<'_>) {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        while self.most.load(Ordering::SeqCst) < PROBES {
            self.sleep(1).await;
        }
        self.sleep(3).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        call.succeed();
    }

    async fn sleep(&self, millis: u64) {
        let runtime = self.site.runtime();
        runtime.sleep_until(runtime.now() + Duration::from_millis(millis)).await;
    }

    /// Runs all tasks of all processes to their ends.
    fn run_all<F>(self: &Arc<Self>, task: impl Fn(Arc<Self>, Breaker) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (done, is_done) = channel();
        for task in self.breakers.iter().flat_map(|breaker| (0..TASKS).map(|_| task(Arc::clone(self), breaker.clone())))
        {
            let done = done.clone();
            let task = async move {
                task.await;
                done.send(()).expect("the test waits");
            };
            self.site.block_on(async { self.site.runtime().spawn(task) }).expect("the runtime runs");
        }
        drop(done);
        for _ in 0..PROCESSES * TASKS {
            is_done.recv_timeout(PATIENCE).expect("all tasks end, and none panics");
        }
    }

    fn row(&self) -> Row {
        self.site.block_on(self.store.load(&name("threads"), &settings())).expect("the server runs")
    }

    fn wait_for_all(&self, what: &str, is_so: impl Fn(&Breaker) -> bool) {
        wait_until(what, || self.breakers.iter().all(&is_so));
    }
}
