//! The circuits that processes share through the store in memory.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;

use bulklink::runtime::Instant;
use bulklink_breaker::{Circuit, Pass, ProbeId, Refusal, Settings};
use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::Stream;

use super::{Delivery, MemoryStore};
use crate::circuits::encoding::DIFFER;
use crate::circuits::{Asked, Change, Changes, CircuitStore, Force, Forced, Numbers, Refused, Report, Reported, Row};
use crate::{Name, Namespace, StoreError};

#[derive(Default)]
pub(super) struct Data {
    rows: BTreeMap<Name, Shared>,
    /// Where the transitions of which namespace go.
    listeners: Vec<(Namespace, UnboundedSender<Change>)>,
}

/// A circuit, and the settings of its last operation.
struct Shared {
    circuit: Circuit,
    settings: Option<Settings>,
    /// When an operation last had others than the one before it.
    differed: Option<Instant>,
}

impl Shared {
    /// A new row.
    fn new(now: Instant) -> Self {
        let generation = now.as_nanos() / 1000;
        let circuit = Circuit::in_generation(Settings::default(), generation).expect("the default is possible");
        Shared { circuit, settings: None, differed: None }
    }
}

impl MemoryStore {
    /// Runs a step of one circuit, and publishes its transition.
    async fn change<T>(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        step: impl Fn(&mut Circuit, Instant) -> T,
    ) -> Result<(T, Row), StoreError> {
        if let Some(settings) = settings {
            settings.check().map_err(|_| StoreError::Refused { code: "SETTINGS".into() })?;
        }
        let changed = self.run(self.cuts(), |data, now| {
            let shared = data.circuits.rows.entry(name.clone()).or_insert_with(|| Shared::new(now));
            let settings_differ = shared.fit(settings, now);
            shared.circuit.follow(now);
            let before = shared.circuit.generation();
            let answer = step(&mut shared.circuit, now);
            let row = Row::of(&shared.circuit.view(now), now);
            if row.generation != before && !data.faults.drops_notices {
                data.circuits.publish(&Change { name: name.clone(), row }, &mut data.outbox);
            }
            (answer, Row { settings_differ, ..row })
        });
        changed.await
    }
}

impl Shared {
    /// Changes to the settings of an operation. Returns whether those of the last one differ.
    fn fit(&mut self, settings: Option<&Settings>, now: Instant) -> bool {
        let Some(settings) = settings else { return false };
        let known = self.settings.replace(*settings);
        // Checked before.
        let _ = self.circuit.set_settings(*settings);
        let differ = known.is_some_and(|known| Numbers::of(&known) != Numbers::of(settings));
        if differ {
            self.differed = Some(now);
        }
        differ
    }

    /// What a list shows. A clock may have been set back.
    fn listed(&self, now: Instant) -> Row {
        let apart = |at: Instant| now.saturating_since(at).max(at.saturating_since(now));
        let settings_differ = self.differed.is_some_and(|at| apart(at) < DIFFER);
        Row { settings_differ, ..Row::of(&self.circuit.view(now), now) }
    }
}

impl Data {
    pub(super) fn forget(&mut self) {
        self.rows.clear();
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

    async fn load(&self, name: &Name, settings: &Settings) -> Result<Row, StoreError> {
        Ok(self.change(name, Some(settings), |_, _| ()).await?.1)
    }

    async fn admit_probe(&self, name: &Name, settings: &Settings, id: ProbeId) -> Result<Asked, StoreError> {
        let admit = |circuit: &mut Circuit, now| {
            let refused = |refusal: Refusal| Refused {
                state: refusal.state,
                retry_after: refusal.retry_at.map(|at| at.saturating_since(now)),
            };
            circuit.admit(now, id).map_err(refused)
        };
        let (admission, row) = self.change(name, Some(settings), admit).await?;
        Ok(Asked { admission, row })
    }

    async fn report(&self, name: &Name, settings: &Settings, report: &Report) -> Result<Reported, StoreError> {
        let settle = |circuit: &mut Circuit, now| match report {
            Report::Closed { generation, outcomes } => circuit.report(now, *generation, outcomes),
            Report::Probe { generation, id, outcome } => {
                circuit.settle(now, Pass { generation: *generation, probe: Some(*id) }, *outcome)
            }
        };
        let (counted, row) = self.change(name, Some(settings), settle).await?;
        Ok(Reported { counted, row })
    }

    async fn force(&self, name: &Name, expected: Option<u64>, force: Force) -> Result<Forced, StoreError> {
        let change = |circuit: &mut Circuit, _| {
            let is_expected = expected.is_none_or(|expected| expected == circuit.generation());
            match force {
                _ if !is_expected => {}
                Force::Open => circuit.force_open(),
                Force::Closed => circuit.force_closed(),
            }
            is_expected
        };
        let (is_done, row) = self.change(name, None, change).await?;
        Ok(if is_done { Forced::Done(row) } else { Forced::Stale(row) })
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
            let rows = data.circuits.rows.iter().filter(|(name, _)| name.namespace() == namespace.as_str());
            rows.map(|(name, shared)| (name.clone(), shared.listed(now))).collect()
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
        change.ok_or(StoreError::Unreachable)
    }
}
