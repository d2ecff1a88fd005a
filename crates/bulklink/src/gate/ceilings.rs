//! The ceilings of a bulkhead, under its lock, and the restriction that they make together.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;
use core::time::Duration;

use bulklink_core::{EventFilter, Instant, Load, Restriction};

use crate::foreign::{discard, wake};
use crate::gate::lock::Global;
use crate::gate::shared::{Shared, hint};
use crate::gate::state::GateState;
use crate::identity::{Cause, Identity};

/// All ceilings of a bulkhead, in the order in which they were made.
#[derive(Default)]
pub(crate) struct Ceilings {
    all: Vec<Entry>,
    made: u64,
    /// The identity of the bulkhead, for rejections by the gate while it is restricted.
    identity: Option<Arc<Identity>>,
}

/// A ceiling.
pub(crate) struct Entry {
    id: u64,
    pub(crate) by: &'static str,
    pub(crate) bound: Option<Bound>,
    /// How long calls that find no unit wait for it to be raised.
    pub(crate) fetch: Duration,
    /// Whether calls that find no unit are rejected in place of waiting.
    pub(crate) turns_away: bool,
    /// Why it binds, for rejections.
    pub(crate) cause: Option<Cause>,
    /// The load that other ceilings have looked at since this one has.
    seen: Load,
    /// The waker of the latest look, for the end of the bulkhead.
    waker: Option<Waker>,
}

/// The allowance of a ceiling.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) units: usize,
    /// Whether a call that costs more may run alone.
    pub(crate) or_one_call: bool,
}

impl Ceilings {
    /// Adds a ceiling that allows everything, and returns its id.
    fn add(&mut self, by: &'static str) -> u64 {
        self.made += 1;
        self.all.push(Entry {
            id: self.made,
            by,
            bound: None,
            fetch: Duration::ZERO,
            turns_away: false,
            cause: None,
            seen: Load::default(),
            waker: None,
        });
        self.made
    }

    /// Removes a ceiling, and returns it: its waker and its cause must be dropped outside the lock.
    fn remove(&mut self, id: u64) -> Option<Entry> {
        let place = self.all.iter().position(|entry| entry.id == id)?;
        Some(self.all.remove(place))
    }

    /// Notes the load since any ceiling looked last.
    fn note(&mut self, load: Load) {
        for entry in &mut self.all {
            entry.seen = entry.seen.then(load);
        }
    }

    /// Notes that one ceiling looks, and returns the load since it looked last. Returns the
    /// waker of that look, which must be dropped outside the lock.
    fn look(&mut self, id: u64, load: Load, waker: Waker) -> (Load, Option<Waker>) {
        self.note(load);
        match self.all.iter_mut().find(|entry| entry.id == id) {
            Some(entry) => (mem::take(&mut entry.seen), entry.waker.replace(waker)),
            None => (load, Some(waker)),
        }
    }

    fn change(&mut self, id: u64, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.all.iter_mut().find(|entry| entry.id == id) {
            change(entry);
        }
    }

    fn bound(&self, id: u64) -> Option<Bound> {
        self.all.iter().find(|entry| entry.id == id)?.bound
    }

    fn set_ones(&self) -> impl Iterator<Item = (&'static str, Bound)> {
        self.all.iter().filter_map(|entry| Some((entry.by, entry.bound?)))
    }

    /// Returns the least bound of the ceilings; of equal ones, that of the first.
    fn restriction(&self) -> Option<Restriction> {
        let (by, least) = self.set_ones().min_by_key(|(_, bound)| bound.units)?;
        // A call that runs alone must not pass a ceiling that makes no exception.
        let strict = self.set_ones().filter(|(_, bound)| !bound.or_one_call);
        let alone = strict.map(|(_, bound)| bound.units).min().unwrap_or(usize::MAX);
        Some(Restriction::new(least.units, by).with_alone(alone))
    }

    /// Returns how long calls wait for the least ceiling to be raised, and the bound to which it
    /// can be raised: the least of the ceilings for which none waits.
    fn fetch(&self) -> (Duration, usize) {
        let bounds = self.all.iter().filter_map(|entry| Some((entry.bound?.units, entry.fetch)));
        let wait = self.least().map_or(Duration::ZERO, |entry| entry.fetch);
        let firm = bounds.filter(|(_, fetch)| fetch.is_zero());
        (wait, firm.map(|(units, _)| units).min().unwrap_or(usize::MAX))
    }

    /// Returns the least ceiling, as [`restriction`](Ceilings::restriction) has it.
    fn least(&self) -> Option<&Entry> {
        let set = self.all.iter().filter_map(|entry| Some((entry.bound?.units, entry)));
        set.min_by_key(|(units, _)| *units).map(|(_, entry)| entry)
    }

    /// Returns why the least ceiling binds, if it has a cause.
    fn cause(&self) -> Option<&Cause> {
        self.least()?.cause.as_ref()
    }

    fn list(&self) -> Vec<Restriction> {
        let one = |(by, bound): (_, Bound)| {
            let alone = if bound.or_one_call { usize::MAX } else { bound.units };
            Restriction::new(bound.units, by).with_alone(alone)
        };
        self.set_ones().map(one).collect()
    }
}

/// Nothing that a controller waits for comes after the bulkhead.
impl Drop for GateState {
    fn drop(&mut self) {
        let Some(ceilings) = &mut self.ceilings else { return };
        // An adaptive limit may be foreign.
        discard(self.rare.take());
        for entry in &mut ceilings.all {
            // Each apart: to drop it may panic.
            discard(self.gate.unwatch_events(entry.id));
            wake(entry.waker.take());
            discard(entry.cause.take());
        }
    }
}

impl GateState {
    /// Returns the ceilings, of which closing has lifted all.
    fn ceilings(&self) -> Option<&Ceilings> {
        self.ceilings.as_deref().filter(|_| !self.gate.is_closed())
    }

    /// Returns the identity in rejections by the gate, while it is restricted. One with a cause is
    /// not kept: under the lock, a cause must not be dropped.
    pub(crate) fn restricted_identity(&self) -> Option<Arc<Identity>> {
        let ceilings = self.ceilings()?;
        let restriction = self.gate.restriction()?;
        let identity = ceilings.identity.as_ref()?;
        Some(match ceilings.cause() {
            Some(cause) => Arc::new(identity.under(restriction, Some(cause.clone()))),
            None => Arc::clone(identity),
        })
    }
}

impl Shared {
    pub(crate) fn add_ceiling(&self, by: &'static str) -> u64 {
        self.input(|state| {
            let load = state.gate.look();
            let ceilings = state.ceilings.get_or_insert_default();
            ceilings.note(load);
            ceilings.add(by)
        })
    }

    pub(crate) fn ceiling(&self, id: u64) -> Option<Bound> {
        self.beside_the_word(|state| state.ceilings()?.bound(id))
    }

    pub(crate) fn ceilings(&self) -> Vec<Restriction> {
        self.beside_the_word(|state| state.ceilings().map(Ceilings::list).unwrap_or_default())
    }

    /// Changes a ceiling, and admits the calls that this lets in. Returns their number.
    pub(crate) fn change_ceiling(&self, id: u64, change: impl FnOnce(&mut Entry)) -> usize {
        self.change_ceilings(|ceilings| ceilings.change(id, change))
    }

    pub(crate) fn remove_ceiling(&self, id: u64) {
        let mut entry = None;
        self.change_ceilings(|ceilings| entry = ceilings.remove(id));
        let waker = self.input(|state| state.gate.unwatch_events(id));
        let Some(Entry { waker: end, cause, .. }) = entry else { return discard(waker) };
        // Each apart: to drop it may panic.
        discard(waker);
        discard(end);
        discard(cause);
    }

    /// Returns the load since this ceiling looked last. One waker is woken after the next of these
    /// events, the other after the end of the bulkhead.
    pub(crate) fn look(&self, id: u64, events: EventFilter, [next, end]: [Waker; 2]) -> Load {
        let (load, displaced) = self.input(|state| {
            let load = state.gate.look();
            let (load, displaced) = state.ceilings.get_or_insert_default().look(id, load, end);
            (load, [displaced, state.gate.watch_events(id, events, next)])
        });
        discard(displaced);
        load
    }

    fn change_ceilings(&self, change: impl FnOnce(&mut Ceilings)) -> usize {
        let now = self.now_if_sound();
        self.input(|state| self.change_ceilings_now(state, change, now))
    }

    fn change_ceilings_now(&self, state: &mut GateState, change: impl FnOnce(&mut Ceilings), now: Instant) -> usize {
        state.take_back_due(now);
        let ceilings = state.ceilings.get_or_insert_default();
        change(ceilings);
        let (restriction, (wait, up_to)) = (ceilings.restriction(), ceilings.fetch());
        state.gate.let_fetch(wait, up_to);
        self.give_hint(hint::FETCH, !wait.is_zero());
        self.give_hint(hint::CAUSE, ceilings.cause().is_some());
        self.restrict(state, restriction, now)
    }

    /// Sets a ceiling as a part of an input.
    pub(crate) fn set_ceiling_now(&self, state: &mut GateState, id: u64, bound: Option<Bound>, now: Instant) {
        self.change_ceilings_now(state, |ceilings| ceilings.change(id, |entry| entry.bound = bound), now);
    }

    fn restrict(&self, state: &mut GateState, restriction: Option<Restriction>, now: Instant) -> usize {
        let admitted = state.gate.restrict(restriction, now);
        state.note_use(now);
        self.note_restriction(state);
        admitted
    }

    /// Leaves what rejections need, after the restriction or the capacity has changed.
    pub(crate) fn note_restriction(&self, state: &mut GateState) {
        let restriction = state.gate.restriction();
        let least = state.ceilings().and_then(Ceilings::least);
        self.give_hint(hint::TURN_AWAY, restriction.is_some() && least.is_some_and(|entry| entry.turns_away));
        let Some(restriction) = restriction else { return };
        let capacity = state.gate.occupancy().capacity();
        self.fast.note(Noted::new(capacity, Controller::named(restriction.by)));
        if let Some(ceilings) = &mut state.ceilings {
            ceilings.identity = Some(Arc::new(self.identity().under(restriction, None)));
        }
    }
}

/// The names of all controllers that have restricted a bulkhead. Rejections have their numbers,
/// because a rejection by a word has no room for a name.
static CONTROLLERS: Global<Vec<&'static str>> = Global::new(Vec::new());

/// A controller, by a number in place of its name.
#[derive(Clone, Copy)]
pub(crate) struct Controller(u16);

impl Controller {
    /// The name of each controller beyond the first 65,535.
    const OTHER: &'static str = "another controller";

    /// Returns the number of a name, which is kept.
    pub(crate) fn named(name: &'static str) -> Self {
        CONTROLLERS.with(|names| {
            let known = names.iter().position(|known| *known == name);
            let number = u16::try_from(known.unwrap_or(names.len())).unwrap_or(u16::MAX);
            if known.is_none() && number < u16::MAX {
                names.push(name);
            }
            Controller(number)
        })
    }

    pub(crate) fn name(self) -> &'static str {
        CONTROLLERS.with(|names| names.get(usize::from(self.0)).copied().unwrap_or(Controller::OTHER))
    }
}

/// The capacity and the controller that restricts it, which a restricted word does not have.
#[derive(Clone, Copy)]
pub(crate) struct Noted(u64);

impl Noted {
    fn new(capacity: usize, Controller(number): Controller) -> Self {
        Noted((capacity as u64) << 16 | u64::from(number))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the upper part")]
    pub(crate) const fn capacity(self) -> u32 {
        (self.0 >> 16) as u32
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower part")]
    pub(crate) const fn by(self) -> Controller {
        Controller(self.0 as u16)
    }
}

impl From<Noted> for u64 {
    fn from(Noted(bits): Noted) -> Self {
        bits
    }
}

impl From<u64> for Noted {
    fn from(bits: u64) -> Self {
        Noted(bits)
    }
}
