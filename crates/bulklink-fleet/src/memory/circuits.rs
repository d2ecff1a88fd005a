//! The circuits that processes share through the store in memory.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;

use bulklink_breaker::Settings;
use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::Stream;

use super::{Delivery, MemoryStore};
use crate::circuits::record::Record;
use crate::circuits::{Change, Changes, CircuitStore, Operation, Reply, Row};
use crate::{Name, Namespace, StoreError};

#[derive(Default)]
pub(super) struct Data {
    records: BTreeMap<Name, Record>,
    /// Where the transitions of which namespace go.
    listeners: Vec<(Namespace, UnboundedSender<Change>)>,
}

impl Data {
    pub(super) fn forget(&mut self) {
        self.records.clear();
    }

    pub(super) fn end_all(&mut self, outbox: &mut VecDeque<Delivery>) {
        let listeners = mem::take(&mut self.listeners);
        outbox.push_back(Box::new(|| drop(listeners)));
    }

    fn publish(&mut self, change: &Change, outbox: &mut VecDeque<Delivery>) {
        let (listeners, gone) = mem::take(&mut self.listeners).into_iter().partition(|(_, sender)| !sender.is_closed());
        self.listeners = listeners;
        outbox.push_back(Box::new(move || drop::<Vec<_>>(gone)));
        let is_for = |(namespace, _): &&(Namespace, _)| change.name.namespace() == namespace.as_str();
        for (_, sender) in self.listeners.iter().filter(is_for) {
            let (sender, change) = (sender.clone(), change.clone());
            // It fails if the subscription was dropped.
            outbox.push_back(Box::new(move || drop(sender.unbounded_send(change))));
        }
    }
}

impl CircuitStore for MemoryStore {
    type Changes = MemoryChanges;

    async fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        let operated = self.run(self.cuts(), |data, now| {
            let known = data.circuits.records.get(name).cloned();
            let mut record = known.unwrap_or_else(|| Record::new(now));
            let before = record.generation();
            let reply = record.apply(now, settings, operation)?;
            data.circuits.records.insert(name.clone(), record);
            if reply.row.generation != before && !data.faults.drops_notices {
                // Settings are compared for the process that has asked.
                let row = Row { settings_differ: false, ..reply.row };
                data.circuits.publish(&Change { name: name.clone(), row }, &mut data.outbox);
            }
            Ok(reply)
        });
        operated.await?
    }

    async fn changes(&self, namespace: &Namespace) -> Result<MemoryChanges, StoreError> {
        let subscribe = |data: &mut super::Data, _| {
            let (sender, receiver) = unbounded();
            data.circuits.listeners.push((namespace.clone(), sender));
            receiver
        };
        Ok(MemoryChanges(self.run(self.cuts(), subscribe).await?))
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        let list = |data: &mut super::Data, now| {
            let records = data.circuits.records.iter().filter(|(name, _)| name.namespace() == namespace.as_str());
            records.map(|(name, record)| (name.clone(), record.row(now))).collect()
        };
        self.run(self.cuts(), list).await
    }
}

/// A subscription to a [`MemoryStore`].
#[derive(Debug)]
pub struct MemoryChanges(UnboundedReceiver<Change>);

impl Changes for MemoryChanges {
    async fn next(&mut self) -> Result<Change, StoreError> {
        let change = poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await;
        change.ok_or(StoreError::UNREACHABLE)
    }
}
