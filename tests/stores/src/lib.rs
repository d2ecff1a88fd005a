//! The suite that runs on every store of a fleet: what links promise, and fleets through them.
//!
//! A crate of a store implements [`Site`] for its server, and declares the tests by
//! [`link_tests!`] and [`fleet_tests!`] with a macro that runs one of them.

#![cfg(unix)]
#![forbid(unsafe_code)]
#![allow(clippy::missing_panics_doc, reason = "tests panic")]

pub mod causes;
pub mod fleets;
pub mod links;
mod process;
mod site;

pub use process::{Ears, PATIENCE, Process, TERMS, Told, name, pass, session, statement, within};
pub use site::{Platform, Site};

/// Declares a test for each promise of a link: `$run!(path)` runs the async function of that path,
/// which takes a [`Site`].
#[macro_export]
macro_rules! link_tests {
    ($run:ident) => {
        $crate::declare! { $run
            links: units_go_from_process_to_process
            links: a_name_that_rests_is_heard_again_when_it_is_listened_to
            links: refusals_name_both_sides
            links: commands_take_effect_in_the_order_of_their_first_polls
            links: nothing_is_told_after_the_link_was_dropped
            links: a_receiver_may_drop_the_link
            links: a_dropped_future_leaves_the_link_as_it_was
            links: a_cut_connection_ends_what_is_on_the_way
            links: a_lost_reply_is_an_end_and_the_command_may_have_happened
            links: a_black_hole_delays_and_does_not_end
            links: a_server_that_restarts_is_another_one
            links: a_grant_passes_a_process_that_has_ended
            links: ended_sessions_end_their_links
            links: a_server_that_is_gone_is_unreachable
            links: commands_of_several_processes_do_not_undo_each_other
        }
    };
}

/// Declares a test for each promise of a fleet: `$run!(path)` runs the async function of that path,
/// which takes a [`Site`] and a runtime.
#[macro_export]
macro_rules! fleet_tests {
    ($run:ident) => {
        $crate::declare! { $run
            fleets: cut_connections_cost_no_unit_and_admit_no_call_too_many
            fleets: dropped_replies_leak_nothing
            fleets: a_restart_without_data_counts_what_runs
            fleets: a_restart_with_data_goes_on
            fleets: futures_that_are_dropped_anywhere_leak_nothing
            fleets: solid_queue_761_a_stale_holder_does_not_free_what_another_has
            fleets: redisson_3046_a_unit_is_renewed_as_long_as_it_is_in_use
            fleets: redisson_4462_the_count_is_right_after_crashes
            fleets: redis_semaphore_205_nothing_is_lost_under_contention
            fleets: redis_semaphore_127_tokens_fence_late_holders
            fleets: sentinel_3428_a_limit_of_one_runs_one
            fleets: ended_sessions_change_nothing
            fleets: a_stopped_server_admits_no_call_too_many
        }
    };
}

/// Declares tests.
#[doc(hidden)]
#[macro_export]
macro_rules! declare {
    ($run:ident $($module:ident: $name:ident)+) => {$(
        #[test]
        fn $name() {
            $run!($crate::$module::$name);
        }
    )+};
}
