//! The calls of a run.

use bulklink_core::{Grant, Ticket};

/// A call that waits, is in flight, or is tried again.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub(super) struct Call {
    /// When its caller first wanted it; after a failure, when it is wanted again.
    pub(super) first: f64,
    /// When it came to the gate.
    pub(super) entered: f64,
    /// When it was admitted.
    pub(super) started: f64,
    /// Its work, as a multiple of the mean.
    pub(super) work: f64,
    /// The calls in flight at its admission.
    pub(super) in_flight: u32,
    /// How often it was tried again.
    pub(super) tries: u32,
    pub(super) generation: u32,
    pub(super) is_slow: bool,
    pub(super) has_waited: bool,
    pub(super) has_failed: bool,
    /// Whether the backend works on it.
    pub(super) is_in_backend: bool,
    /// Whether its caller gave up while the backend works on it.
    pub(super) is_abandoned: bool,
    pub(super) ticket: Option<Ticket>,
    pub(super) grant: Option<Grant>,
}

impl Call {
    pub(super) fn new(now: f64, work: f64, is_slow: bool, tries: u32) -> Self {
        Call {
            first: now,
            entered: now,
            started: 0.0,
            work,
            in_flight: 0,
            tries,
            generation: 0,
            is_slow,
            has_waited: false,
            has_failed: false,
            is_in_backend: false,
            is_abandoned: false,
            ticket: None,
            grant: None,
        }
    }
}

/// Calls by number. The numbers of those that are over are used again.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    free: Vec<u32>,
}

impl Calls {
    pub(super) fn add(&mut self, call: Call) -> u32 {
        if let Some(number) = self.free.pop() {
            let generation = self.get(number).generation + 1;
            *self.get(number) = Call { generation, ..call };
            return number;
        }
        self.calls.push(call);
        (self.calls.len() - 1) as u32
    }

    pub(super) fn get(&mut self, number: u32) -> &mut Call {
        &mut self.calls[number as usize]
    }

    pub(super) fn free(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Returns the number of calls that wait or are in flight, of those wanted since a time.
    pub(super) fn open_since(&self, time: f64) -> u64 {
        let is_open = |call: &&Call| call.first >= time && (call.ticket.is_some() || call.grant.is_some());
        self.calls.iter().filter(is_open).count() as u64
    }
}
