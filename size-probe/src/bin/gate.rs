//! Every input and output of the gate.

#![no_std]
#![no_main]

use bulklink_core::{Gate, Grant};
use size_probe::Waiter;

size_probe::keep!(
    Gate::<Waiter>::new,
    Gate::<Waiter>::with_instance,
    Gate::<Waiter>::enter_untimed,
    Gate::<Waiter>::enter,
    Gate::<Waiter>::park,
    Gate::<Waiter>::is_waiting,
    Gate::<Waiter>::parked,
    Gate::<Waiter>::deadline,
    Gate::<Waiter>::collect,
    Gate::<Waiter>::release,
    Gate::<Waiter>::cancel,
    Gate::<Waiter>::resize,
    Gate::<Waiter>::close,
    Gate::<Waiter>::is_closed,
    Gate::<Waiter>::is_drained,
    Gate::<Waiter>::watch,
    Gate::<Waiter>::rewatch,
    Gate::<Waiter>::watched,
    Gate::<Waiter>::unwatch,
    Gate::<Waiter>::advance,
    Gate::<Waiter>::tell,
    Gate::<Waiter>::wants_now,
    Gate::<Waiter>::next_deadline,
    Gate::<Waiter>::poll_wake,
    Gate::<Waiter>::poll_event,
    Gate::<Waiter>::has_output,
    Gate::<Waiter>::observe,
    Gate::<Waiter>::is_observed,
    Gate::<Waiter>::limits,
    Gate::<Waiter>::figures,
    Gate::<Waiter>::snapshot,
    Grant::cost,
    drop::<Gate<Waiter>>,
);
