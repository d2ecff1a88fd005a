//! Changing the settings of a shared capacity, and the shares of keys with them, in one step.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bulklink_core::pool::{self, Class, Key, LineId};
use bulklink_core::{Instant, InvalidArgument};

use super::members::Reach;
use super::share::narrow;
use super::{PoolState, Share, SharedPool};

/// The settings of a shared capacity that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) capacity: usize,
    pub(crate) waiting_room: Option<usize>,
    /// The share of each key that has none of its own.
    pub(crate) share: Share,
    /// The units that each class leaves free for better ones.
    pub(crate) headroom: [usize; Class::ALL.len()],
    pub(crate) relief: Option<usize>,
}

impl Setup {
    /// Returns these settings with the capacity of others if that is lower, and then also with
    /// their headrooms where those are, which are within it.
    pub(crate) fn least(mut self, other: &Setup) -> Self {
        if other.capacity < self.capacity {
            self.capacity = other.capacity;
            for (units, other) in self.headroom.iter_mut().zip(other.headroom) {
                *units = other.min(*units);
            }
        }
        self
    }

    /// Returns these settings, with those of `has` that no configuration has.
    pub(crate) fn keeping(self, has: &Setup) -> Self {
        let Share { waiting_room, is_paused, .. } = has.share;
        Setup { share: Share { waiting_room, is_paused, ..self.share }, ..self }
    }

    fn limits(&self, mut limits: pool::Limits) -> pool::Limits {
        limits.waiting_room = self.waiting_room.map_or(pool::Limits::ANY_ROOM, narrow);
        limits.headroom = self.headroom.map(narrow);
        limits.relief = self.relief.map_or(0, narrow);
        limits.with_capacity(narrow(self.capacity))
    }
}

/// A key that gets a share of its own, or that of all again.
pub(crate) struct OwnShare {
    /// The key in the pool, if it is there: always, if it gets that of all.
    pub(crate) key: Option<Key>,
    pub(crate) share: Option<Share>,
}

impl SharedPool {
    /// Returns the settings.
    pub(crate) fn setup(&self) -> Setup {
        self.state.with(|state| {
            let pool::Limits { capacity, waiting_room, headroom, relief, .. } = *state.pool.limits();
            let waiting_room = (waiting_room < pool::Limits::ANY_ROOM).then_some(waiting_room as usize);
            let headroom = headroom.map(|units| units as usize);
            let relief = (relief > 0).then_some(relief as usize);
            Setup { capacity: capacity as usize, waiting_room, share: state.share, headroom, relief }
        })
    }

    /// Returns why the settings, and these shares, could not be changed so now. The caller must
    /// deliver the outputs.
    pub(crate) fn check_change(
        &self,
        setup: &Setup,
        own: &[OwnShare],
        now: Instant,
    ) -> (Result<(), InvalidArgument>, Reach) {
        let mut reach = Reach::new();
        let checked = self.state.with(|state| {
            state.at(Some(now));
            let (limits, shares) = (setup.limits(state.pool.limits().clone()), state.shares(setup, own));
            state.with_lines(&mut reach, |pool, lines| pool.check_change(lines, &limits, &shares))
        });
        (checked, reach)
    }

    /// Changes the settings and these shares, or nothing. Returns the number of waiters that this
    /// admits. A key with a share of its own is in the pool then. The caller must deliver the
    /// outputs.
    pub(crate) fn change(
        &self,
        setup: &Setup,
        own: &mut [OwnShare],
        now: Instant,
    ) -> (Result<usize, InvalidArgument>, Reach) {
        let mut reach = Reach::new();
        let changed = self.state.with(|state| {
            state.at(Some(now));
            let (limits, mut shares) = (setup.limits(state.pool.limits().clone()), state.shares(setup, own));
            let before = state.members.admitted();
            state.with_lines(&mut reach, |pool, lines| pool.change(lines, limits, &mut shares))?;
            state.share = setup.share;
            for (own, (key, _)) in own.iter_mut().zip(shares) {
                let Some(key) = key else { continue };
                own.key = Some(key);
                state.members.own(key, own.share.is_some());
                state.remove_unused(key);
            }
            Ok(state.members.admitted().wrapping_sub(before))
        });
        (changed, reach)
    }

    /// Sets the share of a key of its own: of a new one, if it is not in the pool. The caller must
    /// deliver the outputs.
    pub(crate) fn set_share(
        &self,
        key: Option<Key>,
        share: &Share,
        now: Instant,
    ) -> (Result<Key, InvalidArgument>, Reach) {
        let mut reach = Reach::new();
        let set = self.state.with(|state| {
            let (share, now) = (share.inner(), state.at(Some(now)));
            share.check(state.pool.limits())?;
            let key = match key {
                Some(key) => state.pool.set_share(key, share).map(|()| key)?,
                None => state.pool.add(share)?,
            };
            state.members.own(key, true);
            state.follow(key, &mut reach, now);
            Ok(key)
        });
        (set, reach)
    }

    /// Gives a key that has a share of its own that of all again. Without a bulkhead, it is
    /// removed. The caller must deliver the outputs.
    pub(crate) fn remove_share(&self, key: Key, now: Instant) -> Reach {
        let mut reach = Reach::new();
        self.state.with(|state| {
            let now = state.at(Some(now));
            state.pool.set_share(key, state.share.inner()).expect("nothing is kept for it");
            state.members.own(key, false);
            state.follow(key, &mut reach, now);
            state.remove_unused(key);
        });
        reach
    }
}

impl PoolState {
    /// Returns the shares that change: first these, and then, if that of all does, those of all
    /// keys that have none of their own.
    fn shares(&self, setup: &Setup, own: &[OwnShare]) -> Vec<(Option<Key>, pool::Share)> {
        let after = |own: &OwnShare| (own.key, own.share.unwrap_or(setup.share).inner());
        let mut shares: Vec<_> = own.iter().map(after).collect();
        if setup.share != self.share {
            let named: BTreeSet<_> = own.iter().filter_map(|own| own.key.map(Key::number)).collect();
            let rest = self.members.common().filter(|key| !named.contains(&key.number()));
            shares.extend(rest.map(|key| (Some(key), setup.share.inner())));
        }
        shares
    }

    /// Takes the units back that are lent to a key beyond a lower ceiling, and lends units to those
    /// whose turn it is, after a change of its share.
    fn follow(&mut self, key: Key, reach: &mut Reach, now: Instant) {
        for line in Class::ALL.map(|class| LineId { key, class }) {
            let Some(shared) = self.members.get(line) else { continue };
            self.pool.begin(line);
            let demand = shared.member(|state| state.demand());
            self.finish(&shared, line, &demand, reach, now);
            reach.push((shared, None));
        }
        self.with_lines(reach, |_, _| ());
    }

    /// Removes a key without a bulkhead and a share of its own.
    fn remove_unused(&mut self, key: Key) {
        if !self.members.has(key) {
            self.pool.remove(key);
        }
    }
}
