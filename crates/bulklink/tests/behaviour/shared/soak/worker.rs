//! Threads that use the keys in all ways.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use bulklink::testing::FakeRuntime;
use bulklink::{OwnedSlot, OwnedSlotFuture, Reason, Rejection, Request};

use super::witness::{Before, Units, Witness};
use super::{CLASSES, KEYS, Models, Random};
use crate::ms;

/// The most calls of a thread that wait.
const WAITING: usize = 6;
/// The most slots that it holds.
const HELD: usize = 2;
/// So often a thread looks in vain for a call that was woken, before one counts as forgotten.
const PATIENCE: usize = 20_000_000;

/// What all threads share.
pub(super) struct Soak {
    pub(super) models: Models,
    pub(super) witness: Arc<Witness>,
    /// The operations that are still to come.
    pub(super) left: AtomicU64,
    /// Rejections for other reasons than those of this scene.
    pub(super) unexpected: AtomicU64,
}

/// A slot, and its units for the witness, which are dropped first.
struct Held {
    _units: Units,
    slot: OwnedSlot,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// A call that waits, which is polled only when it is woken.
struct Waiting {
    key: usize,
    before: Before,
    woken: Arc<Woken>,
    future: OwnedSlotFuture<FakeRuntime>,
}

impl Waiting {
    fn poll(&mut self) -> Poll<Result<OwnedSlot, Rejection>> {
        self.woken.0.store(false, SeqCst);
        let waker = Waker::from(Arc::clone(&self.woken));
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }
}

struct Worker<'a> {
    soak: &'a Soak,
    random: Random,
    waiting: Vec<Waiting>,
    held: Vec<Held>,
}

/// Calls until no operation is left, and then lets each call that waits come to its end.
pub(super) fn work(soak: &Soak, seed: u64) {
    let mut worker = Worker { soak, random: Random(seed), waiting: vec![], held: vec![] };
    while soak.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
        worker.step();
    }
    worker.held.clear();
    let mut in_vain = 0;
    while !worker.waiting.is_empty() {
        in_vain = if worker.poll_woken() { 0 } else { in_vain + 1 };
        worker.held.clear();
        assert!(in_vain < PATIENCE, "a call that waits is forgotten: {:?}", soak.models.status());
        thread::yield_now();
    }
}

impl Worker<'_> {
    fn step(&mut self) {
        self.poll_woken();
        let key = self.random.below(KEYS.len());
        match self.random.below(20) {
            0..=5 => self.try_now(key),
            6..=11 => self.begin(key),
            12..=15 => drop(self.take_held()),
            16 => drop(self.take_waiting()),
            17 => self.submit(key),
            18 => self.split(),
            _ => self.block(key),
        }
        if self.held.len() > HELD {
            self.held.remove(0);
        }
        if self.waiting.len() > WAITING {
            self.waiting.remove(0);
        }
    }

    fn request(&mut self) -> Request<bulklink::runtime::Instant> {
        let request = Request::new().cost([1, 1, 1, 2, 3][self.random.below(5)]);
        match self.random.below(8) {
            0 => request.within(ms(self.random.below(20) as u64)),
            1 => request.deadline_after(ms(5 + self.random.below(20) as u64)).leaving(ms(2)),
            2 => request.now(),
            _ => request,
        }
    }

    /// Returns the keys, for calls of any class.
    fn models(&mut self) -> Models {
        self.soak.models.class(CLASSES[self.random.below(CLASSES.len())])
    }

    fn try_now(&mut self, key: usize) {
        let (request, before) = (self.request(), self.soak.witness.before(key));
        let answer = self.models().key(KEYS[key]).with(request).try_slot();
        self.note(key, before, answer);
    }

    fn begin(&mut self, key: usize) {
        let (request, before) = (self.request(), self.soak.witness.before(key));
        let future = self.models().key(KEYS[key]).with(request).slot();
        let mut waiting = Waiting { key, before, woken: Arc::default(), future };
        match waiting.poll() {
            Poll::Ready(answer) => self.note(key, before, answer),
            Poll::Pending => self.waiting.push(waiting),
        }
    }

    /// Polls the calls that were woken. Returns whether there was any.
    fn poll_woken(&mut self) -> bool {
        let Some(place) = self.waiting.iter().position(|waiting| waiting.woken.0.load(SeqCst)) else { return false };
        let mut waiting = self.waiting.swap_remove(place);
        match waiting.poll() {
            Poll::Ready(answer) => self.note(waiting.key, waiting.before, answer),
            Poll::Pending => self.waiting.push(waiting),
        }
        true
    }

    /// A thread that blocks holds nothing for which others wait.
    fn block(&mut self, key: usize) {
        self.held.clear();
        while self.poll_woken() {
            self.held.clear();
        }
        // Those that wait would keep what they are handed.
        self.waiting.clear();
        let (before, wait) = (self.soak.witness.before(key), ms(self.random.below(10) as u64));
        let answer = self.models().key(KEYS[key]).within(wait).blocking_slot();
        self.note(key, before, answer);
        self.held.clear();
    }

    fn submit(&mut self, key: usize) {
        let (witness, before) = (Arc::clone(&self.soak.witness), self.soak.witness.before(key));
        let submitted = self.models().key(KEYS[key]).submit(async move {
            let _units = witness.enter(key, 1, before);
            YieldOnce(false).await;
        });
        // The task goes on without its handle in one of two cases.
        if self.random.below(2) == 0 {
            drop(submitted);
        } else if let Ok(submitted) = submitted {
            std::mem::forget(submitted);
        }
    }

    fn split(&mut self) {
        let Some(Held { _units: units, mut slot }) = self.take_held() else { return };
        drop(units);
        if let Some(part) = slot.split(1) {
            self.soak.witness.slots.fetch_add(1, SeqCst);
            drop(part);
        }
    }

    fn note(&mut self, key: usize, before: Before, answer: Result<OwnedSlot, Rejection>) {
        match answer {
            Ok(slot) => {
                let units = self.soak.witness.enter(key, slot.cost(), before);
                self.held.push(Held { _units: units, slot });
            }
            Err(rejection) => {
                use Reason::{Displaced, Expired, InvalidCost, PartitionLimit, Saturated};
                let is_known =
                    matches!(rejection.reason(), Saturated | Expired | Displaced | PartitionLimit | InvalidCost);
                self.soak.unexpected.fetch_add(u64::from(!is_known), SeqCst);
            }
        }
    }

    fn take_held(&mut self) -> Option<Held> {
        let place = self.random.below(self.held.len().max(1));
        (place < self.held.len()).then(|| self.held.swap_remove(place))
    }

    fn take_waiting(&mut self) -> Option<Waiting> {
        let place = self.random.below(self.waiting.len().max(1));
        (place < self.waiting.len()).then(|| self.waiting.swap_remove(place))
    }
}

struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
