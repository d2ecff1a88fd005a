//! A small world: partitions and their model side by side, which get the same inputs.

use std::collections::BTreeMap;
use std::iter;
use std::time::Duration;

use bulklink_core::Instant;
use bulklink_core::partitions::{Created, Id, Limits, Partitions, Rejection, Snapshot};
use bulklink_core::plumbing::Fork;

use super::model::{Call, Key, Model, Past, Time};
use crate::search;

/// The number of keys.
pub const KEYS: usize = 4;

/// An input to the partitions and their model.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// A call for this key, whether it has a partition or not.
    Enter(Key),
    /// Asks whether a new partition may be created, and creates none.
    Ask,
    /// A call ends.
    End(Call),
    /// The partition of this key is discarded, if it is idle.
    Discard(Key),
    /// Partitions that were idle for the timeout are evicted.
    CleanUp,
    /// The partitions close.
    Close,
    /// Takes the partitions that remain after the close.
    TakeDrained,
    /// Time passes, without an input to the partitions.
    Tick,
    /// The clock is set back, without an input to the partitions.
    TickBack,
}

/// How a world begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// The largest number of partitions.
    pub max_partitions: usize,
    /// How long a partition may be idle.
    pub idle_timeout: Option<Time>,
    /// Inputs that were given already, so that the search begins in a state where much can happen.
    pub prelude: Vec<Input>,
}

/// Partitions and their model.
#[derive(Debug)]
pub struct World {
    partitions: Partitions<Key>,
    model: Model,
    now: Time,
    /// The number of calls so far.
    came: Call,
    /// The partition that each call has leased.
    leases: BTreeMap<Call, Id>,
    ids: BTreeMap<Key, Id>,
    snapshot: Snapshot,
}

impl search::World for World {
    type Start = Start;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        let &Start { max_partitions, idle_timeout, ref prelude } = start;
        let limits = Limits::new(max_partitions).with_idle_timeout(idle_timeout.map(Duration::from_nanos));
        let mut partitions = Partitions::with_instance(limits, 7).expect("the limits of a world are valid");
        let snapshot = partitions.snapshot();
        let model = Model::new(max_partitions, idle_timeout);
        let (leases, ids) = (BTreeMap::new(), BTreeMap::new());
        let mut world = World { partitions, model, now: 10, came: 0, leases, ids, snapshot };
        for &input in prelude {
            world.apply(input);
        }
        world
    }

    fn fork(&self) -> Self {
        World {
            partitions: self.partitions.fork(),
            model: self.model.clone(),
            leases: self.leases.clone(),
            ids: self.ids.clone(),
            ..*self
        }
    }

    fn options(&self) -> Vec<Input> {
        let mut options = vec![Input::CleanUp, Input::Tick];
        options.extend((self.now > 0).then_some(Input::TickBack));
        options.extend((0..KEYS).map(Input::Enter));
        options.extend(self.leases.keys().map(|&call| Input::End(call)));
        options.extend(self.ids.keys().map(|&key| Input::Discard(key)));
        if !self.model.closed {
            options.push(Input::Close);
        }
        options
    }

    fn last_options(&self) -> Vec<Input> {
        vec![Input::Ask, Input::Close, Input::TakeDrained]
    }

    fn replay(&mut self, input: Input) {
        self.apply(input);
    }

    fn check(&mut self, input: Input) {
        self.apply(input);
        self.check_all();
    }
}

impl World {
    /// Compares everything that can be read with the model.
    pub(super) fn check_all(&mut self) {
        self.check_against_model();
        self.check_partitions();
        self.check_interval();
    }

    fn apply(&mut self, input: Input) {
        match input {
            Input::Enter(key) => self.enter(key),
            Input::Ask => assert_eq!(
                self.partitions.may_create().map_err(|rejection| rejection.reason()),
                self.model.may_create()
            ),
            Input::End(call) => {
                let id = self.leases.remove(&call).expect("the call has entered");
                self.partitions.end(id, self.instant());
                self.model.end(call, self.now);
            }
            Input::Discard(key) => {
                let discarded = self.partitions.discard(self.ids[&key]);
                assert_eq!(discarded, self.model.discard(key));
                discarded.map(|key| self.ids.remove(&key));
            }
            Input::CleanUp => {
                let (now, expected) = (self.instant(), self.model.cleanup_idle(self.now));
                self.take_all(|partitions| partitions.cleanup_idle(now), &expected);
            }
            Input::TakeDrained => {
                let expected = self.model.take_drained();
                self.take_all(Partitions::take_drained, &expected);
            }
            Input::Close => {
                let was_open = !std::mem::replace(&mut self.model.closed, true);
                assert_eq!(self.partitions.close(), was_open);
            }
            Input::Tick => self.now += 1,
            Input::TickBack => self.now -= 1,
        }
    }

    fn instant(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn enter(&mut self, key: Key) {
        let call = self.came;
        self.came += 1;
        let entered = match self.ids.get(&key) {
            Some(&id) => self.partitions.lease(id).map(|()| (id, None)),
            None => self.create(key),
        };
        let expected = self.model.enter(call, key);
        match entered {
            Ok((id, evicted)) => {
                assert_eq!(*self.partitions.get(id), key);
                self.leases.insert(call, id);
                assert_eq!(Ok(evicted), expected);
            }
            Err(rejection) => {
                assert_eq!(rejection.occupancy(), self.partitions.occupancy());
                assert_eq!(Err(rejection.reason()), expected);
                self.check_counts();
                self.partitions.count(&rejection);
                self.model.count_rejection(rejection.reason());
            }
        }
    }

    fn create(&mut self, key: Key) -> Result<(Id, Option<Key>), Rejection> {
        let Created { id, evicted, .. } = self.partitions.create(key).map_err(|(refused, rejection)| {
            assert_eq!(refused, key, "the key comes back");
            rejection
        })?;
        let evicted = evicted.map(|(gone, evicted)| {
            assert_eq!(self.ids.remove(&evicted), Some(gone), "the index knew the partition");
            evicted
        });
        self.ids.insert(key, id);
        Ok((id, evicted))
    }

    fn take_all(&mut self, take: impl Fn(&mut Partitions<Key>) -> Option<(Id, Key)>, expected: &[Key]) {
        let taken: Vec<_> = iter::from_fn(|| take(&mut self.partitions)).collect();
        for (id, key) in &taken {
            assert_eq!(self.ids.remove(key), Some(*id), "the index knew the partition");
        }
        let keys: Vec<_> = taken.into_iter().map(|(_, key)| key).collect();
        assert_eq!(keys, expected);
    }

    fn check_against_model(&mut self) {
        let (snapshot, model) = (self.partitions.snapshot(), &self.model);
        assert_eq!(snapshot.limits.max_partitions, model.max_partitions);
        assert_eq!(self.partitions.occupancy().max_partitions(), model.max_partitions);
        assert_eq!(self.partitions.needs_now(), model.idle_timeout.is_some());
        assert_eq!(snapshot.partitions, model.kept.len());
        assert_eq!(snapshot.active_partitions, model.kept.iter().filter(|&&key| model.is_active(key)).count());
        assert_eq!(snapshot.idle_partitions(), model.idle.len());
        assert_eq!(snapshot.leased_operations, model.calls.len() as u64);
        assert_eq!(snapshot.peak_partitions, model.peak_partitions);
        assert_eq!(snapshot.peak_leased_operations, model.peak_calls as u64);
        assert_eq!((snapshot.is_closed, self.partitions.is_closed()), (model.closed, model.closed));
        assert_eq!(snapshot.is_drained(), model.closed && model.calls.is_empty());
        assert_eq!(self.partitions.is_drained(), snapshot.is_drained());
        check_identities(&snapshot, model.taken);
        self.check_counts();
    }

    fn check_counts(&mut self) {
        let counts = [Past::Created, Past::Evicted, Past::Discarded, Past::LimitRejected, Past::ClosedRejected];
        let totals = self.partitions.snapshot().totals;
        assert_eq!(self.partitions.totals(), totals);
        assert_eq!(
            [totals.created, totals.evicted, totals.discarded, totals.limit_rejected, totals.closed_rejected],
            counts.map(|past| self.model.count(past))
        );
    }

    /// Checks that every id leads to its partition, and that no used partition is gone.
    fn check_partitions(&self) {
        assert!(self.ids.keys().eq(sorted(&self.model.kept).iter()));
        assert!(self.ids.iter().all(|(key, &id)| self.partitions.get(id) == key));
        for (call, key) in &self.model.calls {
            assert_eq!(self.partitions.get(self.leases[call]), key);
        }
    }

    /// Checks that the interval since the beginning has all that was counted.
    fn check_interval(&mut self) {
        let later = self.partitions.snapshot();
        let interval = later.since(&self.snapshot).expect("snapshots of the same partitions, in order");
        assert_eq!(interval.totals, later.totals);
        assert_eq!(interval.has_activity(), !self.model.history.is_empty());
        assert!(self.snapshot.since(&later).is_err());
    }
}

fn check_identities(s: &Snapshot, taken: usize) {
    assert_eq!(s.totals.created, s.totals.evicted + s.totals.discarded + (taken + s.partitions) as u64);
    assert!(s.active_partitions <= s.partitions && s.partitions <= s.limits.max_partitions);
    assert!(s.active_partitions as u64 <= s.leased_operations, "every active partition is leased");
    assert!(s.peak_partitions >= s.partitions && s.peak_leased_operations >= s.leased_operations);
    assert_eq!(s.is_full(), s.active_partitions == s.limits.max_partitions);
}

fn sorted(keys: &[Key]) -> Vec<Key> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys
}
