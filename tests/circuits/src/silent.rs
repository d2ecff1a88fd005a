//! A store is asked under no lock: whatever it does, everything else goes on.

use std::collections::BTreeSet;
use std::future::{poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use bulklink::runtime::Spawn;
use bulklink::{Bulkhead, Request};
use bulklink_breaker::{
    Breaker, BreakerBuilder, BreakerError, BreakerRegistry, Call, ErrorsFail, Guard, GuardError, Health, Settings,
};
use bulklink_fleet::circuits::Circuits;
use futures_channel::oneshot;
use futures_util::FutureExt;

use crate::site::{FOREVER, Site};
use crate::subject::{PATIENCE, wait_until};
use crate::watched::{Look, Operation, Step, Watch, WatchedStore};

/// Short enough to wait for, and longer than a step of a test.
const COOL_DOWN: Duration = Duration::from_millis(50);

/// The values of a user of a process, on a store that is watched.
struct Process<S: Site> {
    site: S,
    watch: Arc<Watch>,
    circuits: Circuits<WatchedStore<S::Store>>,
    breaker: Breaker,
    guard: Guard<S::Runtime>,
    registry: BreakerRegistry,
}

impl<S: Site> Clone for Process<S> {
    fn clone(&self) -> Self {
        Process {
            site: self.site.clone(),
            watch: Arc::clone(&self.watch),
            circuits: self.circuits.clone(),
            breaker: self.breaker.clone(),
            guard: self.guard.clone(),
            registry: self.registry.clone(),
        }
    }
}

/// A circuit that opens at the first failure and has one probe.
fn builder<S: Site>(site: &S, label: &str) -> BreakerBuilder {
    Breaker::builder_on(site.runtime(), label).settings(Settings::consecutive(1).cool_down(COOL_DOWN))
}

impl<S: Site> Process<S> {
    /// Starts a process on a server that goes silent when the operation begins for the first time.
    fn start(site: &S, label: &str, silent_at: Option<Operation>) -> Self {
        let (store, watch) = WatchedStore::new(site.store());
        if let Some(operation) = silent_at {
            silence_at(site, &watch, operation);
        }
        let circuits = Circuits::builder(store, site.runtime()).namespace("test");
        let circuits = circuits.flush(Duration::from_millis(5)).retry(Duration::from_millis(5));
        // Only an answer ends an operation.
        let circuits = circuits.store_timeout(FOREVER).refresh(FOREVER);
        let circuits = site.block_on(async { circuits.build() }).expect("all is valid");
        let breaker = circuits.share(builder(site, label)).expect("all is valid");
        let bulkhead = Bulkhead::builder_on(site.runtime(), label).parallelism(10).build().expect("it is valid");
        let guard = Guard::builder(&bulkhead).breaker(&breaker).run_limit(FOREVER).build().expect("it is valid");
        let registry = BreakerRegistry::new();
        registry.add(&guard).expect("it is the first");
        let process = Process { site: site.clone(), watch, circuits, breaker, guard, registry };
        let looked_at = process.clone();
        process.watch.look_by(move |look| looked_at.look(look));
        process
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        wait_until(what, || {
            self.watch.check();
            is_so(self)
        });
    }

    fn connect(&self) {
        self.wait_for("connected", |process| {
            process.circuits.sharing(&process.breaker).expect("it is shared").is_connected
        });
    }

    /// Takes every lock of the process, in ways that change nothing.
    fn look(&self, look: Look) {
        let Process { circuits, breaker, guard, registry, .. } = self;
        let _ = (
            breaker.status().totals,
            breaker.status().circuit,
            circuits.sharing(breaker),
            breaker.check(),
            breaker.transition(),
        );
        let _ = (guard.status(), registry.status(), registry.health());
        if look == Look::Waking {
            drop(circuits.share(builder(&self.site, "looking")).expect("it is valid"));
        }
    }
}

fn silence_at<S: Site>(site: &S, watch: &Watch, operation: Operation) {
    let site = site.clone();
    watch.silence_at(operation, move || site.silence());
}

/// In no step of any operation of the store, which are the calls of its methods, the polls of their
/// futures and their ends, does the process hold a lock.
pub fn no_lock_is_held_while_a_store_is_used<S: Site>(site: &S) {
    let process = Process::start(site, "watched", None);
    let leaving = process.circuits.share(builder(site, "leaving")).expect("it is valid");
    let Process { breaker, watch, .. } = &process;
    process.connect();
    // A second subscription: the first one began before there was anything to look at.
    let polls = |operation| watch.looks().get(&(operation, Step::Poll)).copied().unwrap_or_default();
    let before = polls(Operation::Changes);
    site.cut();
    process.wait_for("another subscription", |_| polls(Operation::Changes) > before);
    process.connect();
    breaker.admit().expect("it is closed").fail();
    process.wait_for("the cool-down has passed", |process| process.breaker.health() == Health::Degraded);
    // A cut may have cost an answer, and the store may know of the trip a little later.
    let probe = || site.block_on(breaker.ask()).map(Call::succeed);
    process.wait_for("a probe closes it", |process| probe().is_ok() && process.breaker.health() == Health::Healthy);
    breaker.force_open();
    leaving.force_open();
    drop(leaving);
    process.wait_for("the store was told by hand", |_| polls(Operation::Force) > 0);
    breaker.force_closed();
    let all = Operation::ALL.iter().flat_map(|operation| Step::ALL.map(|step| (*operation, step)));
    let all: BTreeSet<_> = all.collect();
    process.wait_for("each step was looked at", |_| watch.looks().keys().eq(all.iter()));
}

/// While an operation has no answer, everything that a call or an operator uses returns.
pub fn while_a_server_is_silent_everything_returns<S: Site>(site: &S) {
    for operation in Operation::ALL {
        // It waits for what may never come.
        if operation != Operation::Next {
            everything_returns(site, operation);
        }
    }
}

fn everything_returns<S: Site>(site: &S, operation: Operation) {
    let at_start = matches!(operation, Operation::Changes | Operation::Load).then_some(operation);
    let process = Process::start(site, &format!("silent-{operation:?}"), at_start);
    let Process { breaker, watch, .. } = &process;
    if at_start.is_none() {
        process.connect();
        silence_at(site, watch, operation);
    }
    let call = breaker.admit_owned().expect("it is closed");
    let (ends, end) = oneshot::channel::<()>();
    let running = process.run(end.map(drop));
    let mut asking = None;
    match operation {
        Operation::Changes | Operation::Next | Operation::Load => {}
        Operation::Report => breaker.admit().expect("it is closed").succeed(),
        Operation::Force => breaker.force_open(),
        Operation::AdmitProbe => {
            breaker.admit().expect("it is closed").fail();
            process.wait_for("the cool-down has passed", |process| process.breaker.health() == Health::Degraded);
            asking = Some(process.run(ready(())));
        }
    }
    process.wait_for("the operation is under way", |process| process.watch.is_under_way(operation));
    let (says, said) = channel();
    let (user, on) = (process.clone(), site.clone());
    let user = thread::spawn(move || on.block_on(user.do_everything(&says, call, ends, running)));
    let mut last = "nothing";
    loop {
        match said.recv_timeout(PATIENCE) {
            Ok(step) => last = step,
            Err(RecvTimeoutError::Timeout) => panic!("while {operation:?} is under way, this does not return: {last}"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    user.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    watch.check();
    assert!(watch.is_under_way(operation), "{operation:?} has ended: nothing was shown");
    site.heal();
    process.connect();
    if let Some(asking) = asking {
        // Let through or not, as the store answers.
        let _ = site.block_on(asking).expect("it ends");
    }
    process.wait_for("the store has answered", |process| !process.watch.is_under_way(operation));
}

/// How a call of these tests ends.
type Ended = Result<(), BreakerError<()>>;

impl<S: Site> Process<S> {
    /// Begins a call of an operation that ends with a future.
    fn run(&self, operation: impl Future<Output = ()> + Send + 'static) -> oneshot::Receiver<Ended> {
        let (sender, receiver) = oneshot::channel();
        let breaker = self.breaker.clone();
        let (begins, begun) = channel();
        let call = async move {
            let operation = breaker.execute(operation.map(Ok));
            let mut operation = pin!(operation);
            let polled = poll_fn(|context| Poll::Ready(operation.as_mut().poll(context))).await;
            begins.send(()).expect("the test waits");
            let ended = if let Poll::Ready(ended) = polled { ended } else { operation.await };
            // Some tests do not look at it.
            let _ = sender.send(ended);
        };
        self.site.block_on(async { self.site.runtime().spawn(call) }).expect("the runtime runs");
        begun.recv_timeout(PATIENCE).expect("it is polled");
        receiver
    }

    /// Everything that a call or an operator uses. Names the next step.
    async fn do_everything(
        self,
        says: &Sender<&'static str>,
        call: Call<'static>,
        ends: oneshot::Sender<()>,
        running: oneshot::Receiver<Ended>,
    ) {
        let says = |step| says.send(step).expect("the test waits");
        let Process { site, circuits, breaker, guard, registry, .. } = &self;
        let good = || async { Ok::<_, ()>(()) };
        let is_over = |ended: Ended| assert!(matches!(ended, Ok(()) | Err(BreakerError::Open(_))), "{ended:?}");

        says("a look at the breaker");
        self.look(Look::Reading);
        says("the end of a call that was let through");
        call.succeed();
        says("the end of an operation that runs");
        ends.send(()).expect("it runs");
        is_over(running.await.expect("it ends"));
        says("Breaker::admit");
        drop(breaker.admit());
        says("Breaker::ask");
        drop(breaker.ask().await);
        says("Breaker::execute");
        is_over(breaker.execute(good()).await);
        says("Breaker::blocking_execute");
        is_over(breaker.blocking_execute(|| Ok(())));

        says("Breaker::add_transition_handler");
        let told = Arc::new(AtomicU64::new(0));
        let telling = Arc::clone(&told);
        breaker.add_transition_handler(move |_| {
            telling.fetch_add(1, Ordering::SeqCst);
        });
        says("Breaker::force_open");
        let transition = breaker.transition();
        breaker.force_open();
        says("Breaker::transition");
        transition.await;
        assert_eq!((breaker.health(), told.load(Ordering::SeqCst)), (Health::Isolated, 1));
        says("a rejection");
        assert!(matches!(guard.execute(good()).await, Err(GuardError::Open(_))));
        says("Guard::reset");
        guard.reset();
        assert_eq!((breaker.health(), told.load(Ordering::SeqCst)), (Health::Healthy, 2));

        says("Guard::execute");
        guard.execute(good()).await.expect("it is closed");
        says("GuardRequest::execute");
        guard.with(Request::new().now()).execute(good()).await.expect("it is closed");
        says("Guard::execute_blocking");
        guard.execute_blocking(|| Ok::<_, ()>(())).await.expect("it is closed");
        says("Guard::blocking_execute");
        guard.blocking_execute(|| Ok::<_, ()>(())).expect("it is closed");
        says("a failure");
        guard.execute(async { Err::<(), _>(()) }).await.expect_err("it fails");
        assert_eq!((breaker.health(), told.load(Ordering::SeqCst)), (Health::Isolated, 3));
        says("BreakerRegistry::reset_all");
        registry.reset_all();
        assert_eq!(registry.health(), Health::Healthy);

        says("Circuits::share");
        let another = circuits.clone().share(builder(site, "another")).expect("it is valid");
        says("a call of another circuit");
        another.execute(good()).await.expect("it is closed");
        says("BreakerRegistry::add_breaker");
        registry.add_breaker(&another).expect("the label is free");
        says("BreakerRegistry::breaker");
        assert_eq!((registry.breaker("another").is_some(), registry.len()), (true, 2));
        says("BreakerRegistry::guard");
        assert!(registry.guard::<S::Runtime, ErrorsFail>(breaker.label()).is_some());
        says("BreakerRegistry::remove");
        assert!(registry.remove("another"));
        says("the end of a breaker with something to tell");
        another.force_open();
        drop(another);
        says("nothing");
    }
}
