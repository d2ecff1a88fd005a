//! The core's partitions with a gate each, driven as by a driver that is never late.

use std::collections::BTreeMap;

use bulklink_core::partitions::{Created, Id, Partitions, Reason, Rejection};
use bulklink_core::{Instant, InvalidArgument};
use serde_json::{Map, Value};

use crate::gate::GateSubject;
use crate::subject::{self, Done, Subject};
use crate::trace::{Config, Enter};
use crate::words::{self, Kind};

pub struct PartitionedGates {
    config: Config,
    account: Partitions<Partition>,
    ids: BTreeMap<String, Id>,
    /// The partition that each call has leased.
    leases: BTreeMap<usize, Id>,
    now: Instant,
    changed: Vec<(usize, &'static str)>,
}

struct Partition {
    key: String,
    gate: GateSubject,
}

impl PartitionedGates {
    fn lease(&mut self, key: &str) -> Result<Id, Rejection> {
        match self.ids.get(key) {
            Some(&id) => self.account.lease(id).map(|()| id),
            None => self.create(key),
        }
    }

    fn create(&mut self, key: &str) -> Result<Id, Rejection> {
        let gate = GateSubject::new(&self.config).expect("the first one had the same limits");
        let created = self.account.create(Partition { key: key.to_owned(), gate });
        let Created { id, evicted, .. } = created.map_err(|(_, rejection)| rejection)?;
        if let Some((_, evicted)) = evicted {
            self.ids.remove(&evicted.key);
        }
        self.ids.insert(key.to_owned(), id);
        Ok(id)
    }

    /// Works with the gate of a partition, and ends the leases of the calls that this has ended.
    fn with_gate<T>(&mut self, id: Id, work: impl FnOnce(&mut GateSubject) -> T) -> T {
        let gate = &mut self.account.get_mut(id).gate;
        let done = work(gate);
        for (call, outcome) in gate.outcomes() {
            self.changed.push((call, outcome));
            if !["queued", "admitted"].contains(&outcome) {
                let leased = self.leases.remove(&call).expect("a call that has not ended");
                self.account.end(leased, self.now);
            }
        }
        done
    }

    /// Returns the partition that the call has entered and not left.
    fn gate_of(&self, call: usize) -> Option<Id> {
        self.leases.get(&call).copied()
    }

    /// Returns the partition with the next deadline, and this deadline.
    fn next_deadline(&self) -> Option<(Instant, Id)> {
        let deadline = |&id: &Id| Some((self.account.get(id).gate.next_deadline()?, id));
        self.ids.values().filter_map(deadline).min_by_key(|(deadline, _)| *deadline)
    }
}

impl Subject for PartitionedGates {
    fn new(config: &Config) -> Result<Self, InvalidArgument> {
        GateSubject::new(config)?;
        let account = Partitions::new(subject::partition_limits(config))?;
        let (ids, leases, now) = (BTreeMap::new(), BTreeMap::new(), subject::instant(0));
        Ok(PartitionedGates { config: config.clone(), account, ids, leases, now, changed: vec![] })
    }

    fn pass_time(&mut self, to: Instant) {
        while let Some((deadline, id)) = self.next_deadline().filter(|(deadline, _)| *deadline <= to) {
            self.now = deadline;
            self.with_gate(id, |gate| gate.pass_time(deadline));
        }
        self.now = to;
        for id in self.ids.values().copied().collect::<Vec<_>>() {
            self.with_gate(id, |gate| gate.pass_time(to));
        }
    }

    fn enter(&mut self, enter: &Enter, now: Instant) -> Done {
        if self.leases.contains_key(&enter.id) {
            return Err(subject::not_ended(enter.id));
        }
        match self.lease(&enter.partition) {
            Ok(id) => {
                self.leases.insert(enter.id, id);
                self.with_gate(id, |gate| gate.enter(enter, now))
            }
            Err(rejection) => {
                self.account.count(&rejection);
                self.changed.push((enter.id, outcome(rejection.reason())));
                Ok(())
            }
        }
    }

    fn release(&mut self, id: usize) -> Done {
        let gate = self.gate_of(id).ok_or_else(|| subject::not_running(id))?;
        self.with_gate(gate, |gate| gate.release(id))
    }

    fn cancel(&mut self, id: usize) -> Done {
        let gate = self.gate_of(id).ok_or_else(|| subject::not_waiting(id))?;
        self.with_gate(gate, |gate| gate.cancel(id))
    }

    fn close(&mut self) {
        self.account.close();
        for id in self.ids.values().copied().collect::<Vec<_>>() {
            self.with_gate(id, GateSubject::close);
        }
    }

    fn cleanup_idle(&mut self) -> Done<usize> {
        let before = self.ids.len();
        while let Some((_, gone)) = self.account.cleanup_idle(self.now) {
            self.ids.remove(&gone.key);
        }
        Ok(before - self.ids.len())
    }

    fn discard(&mut self, partition: &str) -> Done<bool> {
        let discarded = self.ids.get(partition).and_then(|&id| self.account.discard(id));
        Ok(discarded.map(|gone| self.ids.remove(&gone.key)).is_some())
    }

    fn outcomes(&mut self) -> Vec<(usize, &'static str)> {
        std::mem::take(&mut self.changed)
    }

    fn status(&mut self, _kind: Kind) -> Map<String, Value> {
        words::partitions_status(&self.account.snapshot(), &subject::limits(&self.config))
    }
}

fn outcome(reason: Reason) -> &'static str {
    match reason {
        Reason::PartitionLimit => "partition_limit",
        Reason::Closed => "closed",
        _ => "unknown",
    }
}
