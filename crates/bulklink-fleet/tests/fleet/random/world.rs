//! Some processes on one store, each on an executor of its own, and what can happen to them.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bulklink::Request;
use bulklink::runtime::Clock;
use bulklink::testing::{Executor, FakeClock};
use bulklink_fleet::{EventKind, Fleet, FleetBulkhead, MemoryStore, OwnerId, Permit, Reason, Status, Token};

use super::counted::{Counted, Manual};
use crate::scene::{Outcome, millis};

#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) limit: u64,
    pub(super) room: usize,
    pub(super) remote: usize,
    pub(super) reuse: u64,
    pub(super) idle: u64,
    /// Whether anything fails.
    pub(super) has_faults: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Wait,
    Try,
    Within(u64),
}

/// The numbers choose from what there is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    Call(usize, u64, Kind),
    Poll(usize),
    PollElsewhere(usize),
    /// All calls that were woken are polled.
    PollAll,
    DropCall(usize),
    DropPermit(usize),
    Release(usize),
    Watch(usize),
    DropWatch(usize),
    /// All tasks of a process run.
    Run(usize),
    /// Time passes, with or without the tasks of a process.
    Pass(u64),
    Freeze(usize),
    Thaw(usize),
    SetLimit(usize, u64),
    Reap(usize),
    Status(usize),
    /// The bulkhead is closed in a process, and built again when that is done.
    Close(usize),
    Stop,
    Start,
    Restart {
        empty: bool,
    },
    Cut,
    Stall(bool),
    DropAnswers(bool),
    DropNotices(bool),
}

impl Input {
    fn is_fault(self) -> bool {
        use Input::{Cut, DropAnswers, DropNotices, Freeze, Restart, Stop};
        matches!(self, Cut | DropAnswers(_) | DropNotices(_) | Freeze(_) | Restart { .. } | Stop)
    }
}

struct Process {
    executor: Executor,
    fleet: Fleet<Counted>,
    bulkhead: FleetBulkhead<Counted>,
    is_frozen: bool,
    tally: Arc<Tally>,
}

/// What is counted of one bulkhead, to be compared with its counters.
#[derive(Debug, Default)]
struct Tally {
    begun: AtomicU64,
    /// Calls whose cost was invalid, as its events say: there is no counter of them.
    invalid: AtomicU64,
}

struct Held {
    process: usize,
    tally: Arc<Tally>,
    permit: Permit,
}

pub(super) struct World {
    options: Options,
    clock: FakeClock,
    readings: Arc<AtomicU64>,
    store: MemoryStore,
    processes: Vec<Process>,
    calls: Vec<(usize, Arc<Tally>, Manual<Outcome>)>,
    permits: Vec<Held>,
    /// Permits that are watched for their loss, and their process.
    watches: Vec<(usize, Rc<Permit>, Manual<()>)>,
    releases: Vec<Manual<bool>>,
    closings: Vec<(usize, Manual<()>)>,
    others: Vec<Manual<()>>,
    /// The highest limit that there was.
    highest: u64,
    tokens: BTreeSet<Token>,
}

const BEAT: u64 = 100;

const LEASE: u64 = 1_000;

impl World {
    pub(super) fn new(processes: usize, options: Options) -> Self {
        let clock = FakeClock::new();
        let store = MemoryStore::new(clock.clone());
        let readings = Arc::new(AtomicU64::new(0));
        let processes = (0..processes).map(|at| {
            let executor = Executor::new(clock.clone());
            let runtime = Counted { runtime: executor.runtime(), readings: Arc::clone(&readings) };
            let builder = Fleet::builder(store.clone(), runtime).namespace("test").process("random");
            let fleet = builder.owner(OwnerId::from(at as u128)).build().expect("the values are valid");
            let (bulkhead, tally) = build(&fleet, options);
            Process { executor, fleet, bulkhead, is_frozen: false, tally }
        });
        let processes = processes.collect();
        let highest = options.limit;
        let mut world = Self {
            options,
            clock,
            readings,
            store,
            processes,
            calls: vec![],
            permits: vec![],
            watches: vec![],
            releases: vec![],
            closings: vec![],
            others: vec![],
            highest,
            tokens: BTreeSet::new(),
        };
        world.run_all();
        world
    }

    pub(super) fn apply(&mut self, input: Input) {
        self.readings.store(0, Ordering::Relaxed);
        if input.is_fault() && !self.options.has_faults {
            return;
        }
        match input {
            Input::Call(at, cost, kind) => self.call(at, cost, kind),
            Input::Poll(at) => self.poll(at, false),
            Input::PollElsewhere(at) => self.poll(at, true),
            Input::PollAll => self.poll_woken_calls(),
            Input::DropCall(at) => drop(take(&mut self.calls, at)),
            Input::DropPermit(at) => drop(take(&mut self.permits, at)),
            Input::Release(at) => {
                let held = take(&mut self.permits, at);
                let release = held.map(|held| Manual::new(held.permit.release()));
                self.releases.extend(release.and_then(|mut release| release.poll().is_none().then_some(release)));
            }
            Input::Watch(at) => {
                let held = take(&mut self.permits, at);
                let watch = held.map(|Held { process, permit, .. }| {
                    let permit = Rc::new(permit);
                    let watched = Rc::clone(&permit);
                    let mut watch = Manual::new(async move { watched.lost().await });
                    watch.poll().is_none().then_some((process, permit, watch))
                });
                self.watches.extend(watch.flatten());
            }
            Input::DropWatch(at) => drop(take(&mut self.watches, at)),
            Input::Run(at) => self.process(at).executor.run_until_idle(),
            Input::Pass(time) => self.pass(time),
            Input::Freeze(at) => self.process(at).is_frozen = true,
            Input::Thaw(at) => self.process(at).is_frozen = false,
            Input::SetLimit(at, limit) => self.set_limit(at, limit),
            Input::Reap(at) => {
                let bulkhead = self.process(at).bulkhead.clone();
                self.others.push(Manual::new(async move { drop(bulkhead.reap_expired().await) }));
            }
            Input::Status(at) => {
                let bulkhead = self.process(at).bulkhead.clone();
                self.others.push(Manual::new(async move { drop(bulkhead.status().await) }));
            }
            Input::Close(at) => self.close(at),
            Input::Stop => self.store.stop(),
            Input::Start => self.store.start(),
            Input::Restart { empty } => {
                self.store.stop();
                if empty {
                    self.store.forget();
                }
                self.store.start();
            }
            Input::Cut => self.store.cut(),
            Input::Stall(stalls) => self.store.stall(stalls),
            Input::DropAnswers(drops) => self.store.drop_answers(drops),
            Input::DropNotices(drops) => self.store.drop_notices(drops),
        }
        self.check_limit();
    }

    fn process(&mut self, at: usize) -> &mut Process {
        let at = at % self.processes.len();
        &mut self.processes[at]
    }

    fn call(&mut self, at: usize, cost: u64, kind: Kind) {
        let at = at % self.processes.len();
        let bulkhead = self.processes[at].bulkhead.clone();
        let request = Request::new().cost(usize::try_from(cost).expect("costs are small"));
        let request = match kind {
            Kind::Wait => request,
            Kind::Try => request.now(),
            Kind::Within(time) => request.within(millis(time)),
        };
        let tally = Arc::clone(&self.processes[at].tally);
        self.calls.push((at, tally, Manual::new(async move { bulkhead.acquire_with(request).await })));
        self.poll(self.calls.len() - 1, false);
    }

    fn poll(&mut self, at: usize, elsewhere: bool) {
        if self.calls.is_empty() {
            return;
        }
        let at = at % self.calls.len();
        let (_, tally, call) = &mut self.calls[at];
        if !call.was_polled() {
            tally.begun.fetch_add(1, Ordering::Relaxed);
        }
        let Some(result) = (if elsewhere { call.poll_elsewhere() } else { call.poll() }) else { return };
        let (process, tally, _) = self.calls.remove(at);
        let Ok(permit) = result else { return };
        let token = permit.token().expect("the policy admits nothing without the store");
        let is_newest = self.tokens.last().is_none_or(|last| *last < token);
        assert!(self.tokens.insert(token), "{token} is handed out twice");
        if self.highest == 1 && permit.is_valid() {
            assert!(is_newest, "{token} is not the largest");
        }
        self.permits.push(Held { process, tally, permit });
    }

    fn set_limit(&mut self, at: usize, limit: u64) {
        let bulkhead = self.process(at).bulkhead.clone();
        self.highest = self.highest.max(limit);
        self.others.push(Manual::new(async move {
            if let Ok(status) = bulkhead.status().await {
                if let Some(settings) = status.settings {
                    let _ = bulkhead.set_limit(limit, settings.version).await;
                }
            }
        }));
    }

    fn close(&mut self, at: usize) {
        let at = at % self.processes.len();
        self.closings.push((at, Manual::new(self.processes[at].bulkhead.close())));
    }

    fn poll_woken_calls(&mut self) {
        for at in (0..self.calls.len()).rev() {
            if self.calls[at].2.is_woken() {
                self.poll(at, false);
            }
        }
    }

    /// Polls what was woken, and nothing else.
    fn poll_woken(&mut self) {
        self.releases.retain_mut(|release| !release.is_woken() || release.poll().is_none());
        self.watches.retain_mut(|(_, permit, watch)| {
            let is_lost = watch.is_woken() && watch.poll().is_some();
            assert!(!is_lost || !permit.is_valid(), "a lost permit is valid");
            !is_lost
        });
        self.others.retain_mut(|other| !other.is_woken() || other.poll().is_none());
        for index in (0..self.closings.len()).rev() {
            let (at, closing) = &mut self.closings[index];
            if closing.is_woken() && closing.poll().is_some() {
                let at = *at;
                self.closings.remove(index);
                self.begin_again(at);
            }
        }
    }

    /// Builds a bulkhead that was closed again, once the name is free.
    fn begin_again(&mut self, at: usize) {
        if self.closings.iter().any(|(other, _)| *other == at) {
            return;
        }
        self.check_counters(at);
        let process = &mut self.processes[at];
        process.executor.run_until_idle();
        (process.bulkhead, process.tally) = build(&process.fleet, self.options);
    }

    fn run_all(&mut self) {
        self.readings.store(0, Ordering::Relaxed);
        for process in self.processes.iter_mut().filter(|process| !process.is_frozen) {
            process.executor.run_until_idle();
        }
        self.poll_woken();
        for (at, permit, _) in self.watches.iter().filter(|(at, ..)| !self.processes[*at].is_frozen) {
            assert!(permit.is_valid(), "process {at} does not notice that its permit is over");
        }
    }

    /// Stops at every timer. Tasks of frozen processes do not run.
    fn pass(&mut self, time: u64) {
        let end = self.clock.now() + millis(time);
        if !self.options.has_faults {
            // A short pause, in which commands are on their way.
            self.store.stall(false);
        }
        self.run_all();
        while let Some(due) = self.clock.next_timer().filter(|due| *due <= end) {
            self.clock.set(due.max(self.clock.now()));
            self.run_all();
            self.check_limit();
        }
        self.clock.set(end);
        self.run_all();
    }

    fn check_limit(&self) {
        let valid = self.permits.iter().filter(|held| held.permit.is_valid());
        let units: u64 = valid.map(|held| held.permit.cost()).sum();
        assert!(units <= self.highest, "{units} units of {} are in use", self.highest);
    }

    /// Every call was counted once. Those that the test has not polled to their end may be, or not.
    fn check_counters(&self, at: usize) {
        let Process { bulkhead, tally, .. } = &self.processes[at];
        let totals = bulkhead.local_status().totals;
        let [begun, invalid] = [&tally.begun, &tally.invalid].map(|number| number.load(Ordering::Relaxed));
        let is_pending = |(_, of, call): &&(usize, Arc<Tally>, Manual<_>)| Arc::ptr_eq(of, tally) && call.was_polled();
        let pending = self.calls.iter().filter(is_pending).count() as u64;
        let ended = totals.admitted + totals.rejected() + totals.cancelled + invalid;
        assert!(ended <= begun && ended + pending >= begun, "{totals:?}, {tally:?}, {pending} pending");
        let held = self.permits.iter().filter(|held| Arc::ptr_eq(&held.tally, tally)).count() as u64;
        assert!(totals.released + held <= totals.admitted, "{totals:?}, {held} held");
    }

    /// When all is well again and time passes, every call ends, and nothing is left on the store.
    pub(super) fn settle(mut self) {
        if !self.options.has_faults && self.closings.is_empty() {
            // What is dropped is gone immediately, and not after a lease.
            self.calls.clear();
            self.pass(self.options.idle + BEAT / 4);
            assert_eq!(self.status().waiting, 0, "a call that was dropped waits");
            self.permits.clear();
            self.watches.clear();
            self.pass(self.options.idle + BEAT / 4);
            self.check_store();
        }
        self.store.start();
        self.store.stall(false);
        self.store.drop_answers(false);
        self.store.drop_notices(false);
        for process in &mut self.processes {
            process.is_frozen = false;
        }
        self.watches.clear();
        let rounds = 20 * LEASE / BEAT + 20 * self.calls.len() as u64;
        for _ in 0..rounds {
            self.permits.clear();
            self.pass(BEAT / 2);
            self.poll_woken_calls();
            self.check_limit();
        }
        assert_eq!(self.calls.len(), 0, "calls wait without end");
        assert_eq!(self.releases.len() + self.closings.len() + self.others.len(), 0, "futures wait without end");
        self.permits.clear();
        self.pass(self.options.idle + 2 * BEAT);
        for at in 0..self.processes.len() {
            self.check_counters(at);
            let totals = self.processes[at].bulkhead.local_status().totals;
            assert_eq!(totals.admitted, totals.released, "{totals:?}");
        }
        self.check_store();
        self.leave();
    }

    fn status(&mut self) -> Status {
        let first = &mut self.processes[0];
        let bulkhead = first.bulkhead.clone();
        first.executor.block_on(async move { bulkhead.status().await }).expect("the store is well")
    }

    /// Nothing is left on the store.
    fn check_store(&mut self) {
        let status = self.status();
        assert_eq!((status.leases, status.waiting), (0, 0), "something is left on the store");
        assert_eq!(status.settings.expect("the bulkhead is open").extra, 0);
    }

    /// All processes close their fleets, and no task is left.
    fn leave(mut self) {
        for process in &self.processes {
            self.others.push(Manual::new(process.fleet.close()));
        }
        self.pass(LEASE);
        assert_eq!(self.others.len(), 0, "a fleet closes without end");
        assert_eq!(self.clock.next_timer(), None, "a task is left");
    }
}

fn build(fleet: &Fleet<Counted>, options: Options) -> (FleetBulkhead<Counted>, Arc<Tally>) {
    let Options { limit, room, remote, reuse, idle, .. } = options;
    let builder = fleet.bulkhead("payments").limit(limit).waiting_room(room).remote_waiters(remote);
    let builder = builder.lease(millis(LEASE)).claim(millis(300)).beat(millis(BEAT));
    let tally = Arc::new(Tally::default());
    let counted = Arc::clone(&tally);
    let builder = builder.reuse(reuse).idle(millis(idle)).on_event(move |event| {
        let is_invalid = matches!(event.kind, EventKind::Rejected { reason: Reason::InvalidCost, .. });
        counted.invalid.fetch_add(u64::from(is_invalid), Ordering::Relaxed);
    });
    (builder.build().expect("the values are valid"), tally)
}

fn take<T>(list: &mut Vec<T>, at: usize) -> Option<T> {
    let at = at.checked_rem(list.len())?;
    Some(list.remove(at))
}
