//! What Bulklink promises on every runtime, as tests that are written once.
//!
//! An adapter implements [`Harness`], which makes and drives its runtime, and its
//! `tests/promises.rs` calls [`suite!`] with it. Everything happens in real time, on real tasks and
//! timers. The tests of the front cover the parts that virtual time can test, and how exactly
//! limits pass.
//!
//! Each test ends with a check of the counters: no operation runs, no call waits, and all
//! identities of the counters hold.

#![forbid(unsafe_code)]

mod accounts;
mod admission;
mod blocking;
mod busy;
mod cancelling;
mod closing;
mod deadlines;
mod events;
mod harness;
mod layers;
mod load;
mod partitions;
mod registry;
mod resizing;
mod runtimes;
mod scene;
mod submitting;
mod weights;

pub use busy::a_busy_executor_delays_no_limit_elsewhere;
pub use harness::Harness;

/// Calls the macro `$then` with its other arguments and all tests.
#[doc(hidden)]
#[macro_export]
macro_rules! each_test {
    ($($then:ident)::+ $(, $argument:tt)*) => {
        $($then)::+! { [$($argument)*]
            admission: a_call_waits_for_its_turn
            admission: a_call_with_now_never_waits
            admission: calls_beyond_the_waiting_room_are_rejected_immediately
            admission: waiters_are_admitted_in_fifo_order
            admission: execute_returns_the_value_the_error_or_the_rejection
            weights: a_small_request_never_overtakes_a_large_one
            weights: costs_share_one_capacity
            deadlines: a_limit_passes
            deadlines: a_deadline_passes
            deadlines: a_past_deadline_expires_immediately
            deadlines: a_limit_beyond_the_range_of_the_clock_never_passes
            deadlines: a_call_that_is_never_polled_delays_no_other
            deadlines: a_nearer_deadline_is_kept
            deadlines: limits_pass_under_load
            cancelling: a_call_dropped_while_it_waits_loses_its_place
            cancelling: an_uncollected_slot_goes_to_the_next_call
            cancelling: an_operation_dropped_before_its_end_gives_its_slot_back
            cancelling: an_operation_that_panics_gives_its_slot_back
            resizing: growing_admits_waiters
            resizing: resizing_under_load_exceeds_no_capacity
            closing: closing_answers_all_calls_and_lets_operations_go_on
            closing: closing_under_load_answers_every_call
            events: events_of_many_tasks_add_up
            events: a_subscriber_receives_every_event_and_then_the_end
            load: ten_thousand_tasks_share_ten_slots
            load: threads_and_tasks_share_one_bulkhead
            submitting: a_burst_that_fits_exactly_is_never_rejected
            submitting: submitted_operations_run_in_order
            submitting: a_rejection_by_a_limit_comes_through_the_handle
            submitting: a_closure_whose_handle_is_dropped_keeps_its_slot
            submitting: panics_come_through_the_handle
            submitting: thousands_of_operations_from_many_threads_add_up
            blocking: limits_apply_to_blocking_threads
            blocking: threads_and_tasks_share_one_fifo_queue
            registry: a_registry_closes_and_drains_under_load
            partitions: no_call_is_lost_nor_partition_created_twice_under_load
            layers: a_layer_admits_queues_and_rejects
            layers: a_layer_cancels_a_request_at_its_deadline
            runtimes: tasks_run_in_the_background
            runtimes: closures_run_where_they_may_block
            runtimes: timers_fire_when_the_clock_has_reached_their_time
            runtimes: a_bulkhead_outlives_its_runtimes
            runtimes: a_call_that_waits_can_move_to_another_runtime
        }
    };
}

macro_rules! publish {
    ([] $($module:ident: $test:ident)*) => {
        $(#[doc(hidden)] pub fn $test<H: Harness>() { $module::$test::<H>(); })*
    };
}

each_test!(publish);

/// Runs every test of the suite on a [`Harness`], as a module of this name: `suite!(smol: Smol)`.
#[macro_export]
macro_rules! suite {
    ($name:ident: $harness:ident) => {
        mod $name {
            $crate::each_test!($crate::run, (super::$harness));
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! run {
    ([($harness:path)] $($module:ident: $test:ident)*) => {
        $(#[test] fn $test() { $crate::$test::<$harness>(); })*
    };
}
