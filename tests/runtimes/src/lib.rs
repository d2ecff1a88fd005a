//! What Bulklink promises on every runtime, as tests that are written once.
//!
//! An adapter says by a [`Harness`] how its runtime is made and driven, and its `tests/contract.rs` calls
//! [`suite!`] with it. Everything happens in real time, on real tasks and timers. What can be tried in virtual time, and how exactly limits
//! pass, is tried there, in the tests of the front.
//!
//! Each test ends by a look at the account: nothing runs, nobody waits, and all identities of the counters hold.

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
mod load;
mod partitions;
mod registry;
mod resizing;
mod runtimes;
mod scene;
mod submitting;
mod weights;

pub use busy::a_busy_executor_stalls_no_limit_elsewhere;
pub use harness::Harness;

/// Calls the macro `$then` with all tests, after what else it is to be told.
#[doc(hidden)]
#[macro_export]
macro_rules! each_test {
    ($($then:ident)::+ $(, $told:tt)*) => {
        $($then)::+! { [$($told)*]
            admission: a_call_waits_for_its_turn
            admission: a_call_that_says_now_never_waits
            admission: so_many_wait_and_the_rest_is_told_at_once
            admission: waiters_are_admitted_in_fifo_order
            admission: execute_returns_the_value_the_error_or_the_rejection
            weights: a_small_request_overtakes_no_large_one
            weights: costs_share_one_capacity
            deadlines: a_limit_passes
            deadlines: a_deadline_passes
            deadlines: a_deadline_that_is_past_expires_at_once
            deadlines: a_limit_past_all_clocks_never_comes
            deadlines: a_call_that_is_held_and_never_polled_stalls_nobody
            deadlines: a_nearer_deadline_is_kept
            deadlines: limits_pass_under_load
            cancelling: a_call_dropped_while_it_waits_loses_its_place
            cancelling: a_slot_that_was_handed_over_and_not_taken_goes_on
            cancelling: an_operation_dropped_before_its_end_gives_its_slot_back
            cancelling: an_operation_that_panics_gives_its_slot_back
            resizing: growing_lets_in_who_waits
            resizing: resizing_under_load
            closing: closing_answers_all_and_lets_work_go_on
            closing: closing_under_load_answers_everyone
            events: events_of_many_tasks_add_up
            events: a_subscriber_is_told_everything_and_then_the_end
            load: ten_thousand_tasks
            load: several_threads_at_once
            submitting: a_burst_of_exactly_what_fits_is_never_turned_away
            submitting: submitted_operations_run_in_order
            submitting: a_limit_ends_through_the_handle
            submitting: a_closure_whose_handle_is_dropped_keeps_its_slot
            submitting: panics_come_through_the_handle
            submitting: thousands_of_operations_from_many_threads
            blocking: limits_pass_for_threads
            blocking: threads_and_tasks_share_one_fifo_queue
            registry: a_registry_closes_and_drains_under_load
            partitions: however_calls_come_and_go_none_is_lost_and_no_partition_is_made_twice
            runtimes: tasks_run_in_the_background
            runtimes: closures_run_where_they_may_block
            runtimes: timers_ring_when_the_clock_says_so
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

/// Runs every test of the contract on a [`Harness`], as a module of this name: `suite!(smol: Smol)`.
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
