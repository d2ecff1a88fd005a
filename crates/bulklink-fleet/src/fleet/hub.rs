//! The shares of a process, by number and by name.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::JoinError;
use super::seat::Seat;
use crate::signal::Signal;
use crate::{Name, StoreError};

/// The number of the next share of all fleets, so that metrics of several have no number twice.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The shares of a process, and the signal to their task.
#[derive(Default)]
pub(super) struct Hub {
    seats: Mutex<Seats>,
    /// Locked while a configuration is applied: one after the other. Whether one was.
    turn: Mutex<bool>,
    pub(super) signal: Arc<Signal>,
}

#[derive(Default)]
struct Seats {
    all: BTreeMap<u64, Arc<Seat>>,
    by_name: HashMap<Name, u64>,
    /// No share that has ended has made a later statement: the rows and notices of one must not be
    /// those of the next with its name.
    seq: u64,
    /// No handle of the fleet is left, or its task is gone.
    is_closed: bool,
    /// Why there is no connection, if the last one has ended or none could be made.
    away: Option<StoreError>,
}

impl Seats {
    /// Lets another share have the name.
    fn forget(&mut self, seat: &Seat) {
        if self.by_name.get(&seat.name) == Some(&seat.number) {
            self.by_name.remove(&seat.name);
        }
    }

    fn check(&self, name: &Name) -> Result<(), JoinError> {
        match self.is_closed {
            true => Err(JoinError::Closed),
            false if self.by_name.contains_key(name) => Err(JoinError::Taken),
            false => Ok(()),
        }
    }
}

impl Hub {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn turn(&self) -> MutexGuard<'_, bool> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a share with the next number, unless there is one with this name, or the fleet is
    /// closed.
    pub(super) fn add(
        &self,
        name: &Name,
        make: impl FnOnce(u64, u64, Option<StoreError>) -> Arc<Seat>,
    ) -> Result<Arc<Seat>, JoinError> {
        // One that has ended, and of which the task does not know yet, is in the way of none. What
        // it still sends is older than the statements of the next one.
        let ended = self.of_name(name).filter(|seat| seat.has_ended());
        let ended = ended.as_ref().map(|seat| (seat, seat.seq()));
        let (number, seq, away) = {
            let mut seats = self.seats();
            if let Some((seat, seq)) = ended {
                seats.seq = seats.seq.max(seq).saturating_add(1 << 20);
                seats.forget(seat);
            }
            seats.check(name)?;
            (NUMBERS.fetch_add(1, Ordering::Relaxed), seats.seq, seats.away.clone())
        };
        // Not under the lock: it takes that of the bulkhead.
        let seat = make(number, seq, away);
        let checked = {
            let mut seats = self.seats();
            let checked = seats.check(name);
            if checked.is_ok() {
                seats.by_name.insert(name.clone(), number);
                seats.all.insert(number, Arc::clone(&seat));
            }
            checked
        };
        if let Err(error) = checked {
            // Another thread was faster: the bulkhead is as it was before.
            seat.give_up();
            return Err(error);
        }
        if let Some((ended, _)) = ended {
            self.signal.notify_of(ended.number);
        }
        self.signal.notify_of(number);
        Ok(seat)
    }

    /// Notes why the store is out of reach, or that it is not. Returns all shares.
    pub(super) fn set_away(&self, away: Option<&StoreError>) -> Vec<Arc<Seat>> {
        let mut seats = self.seats();
        // A connection that no share needs any more is ended, too.
        seats.away = away.filter(|_| !seats.all.is_empty()).cloned();
        seats.all.values().cloned().collect()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.seats().is_closed
    }

    pub(super) fn all(&self) -> Vec<Arc<Seat>> {
        self.seats().all.values().cloned().collect()
    }

    pub(super) fn of_name(&self, name: &Name) -> Option<Arc<Seat>> {
        let seats = self.seats();
        seats.all.get(seats.by_name.get(name)?).cloned()
    }

    pub(super) fn find(&self, number: u64) -> Option<Arc<Seat>> {
        self.seats().all.get(&number).cloned()
    }

    pub(super) fn remove(&self, number: u64) {
        // Before the lock of the list: a share has one of its own.
        let seq = self.find(number).map_or(0, |seat| seat.seq());
        let removed = {
            let mut seats = self.seats();
            seats.seq = seats.seq.max(seq);
            let removed = seats.all.remove(&number);
            if let Some(seat) = &removed {
                seats.forget(seat);
            }
            if seats.all.is_empty() {
                seats.away = None;
            }
            removed
        };
        drop(removed);
    }

    /// Leaves with all shares, and takes no other. Completes when all have ended.
    pub(super) fn leave(&self) -> impl Future<Output = ()> + Send + use<> {
        self.close();
        let seats = self.all();
        for seat in &seats {
            seat.leave();
        }
        async move {
            for seat in seats {
                seat.left().await;
            }
        }
    }

    /// The last handle of the fleet is gone: the task ends after the last share.
    pub(super) fn close(&self) {
        self.seats().is_closed = true;
        self.signal.notify();
    }

    /// Returns `None` if nothing is left to do for good, or whether there is a share.
    pub(super) fn has_seats(&self) -> Option<bool> {
        let seats = self.seats();
        if seats.is_closed && seats.all.is_empty() { None } else { Some(!seats.all.is_empty()) }
    }
}
