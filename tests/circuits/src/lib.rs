//! The suite that runs on every store of shared circuits.
//!
//! A crate of a store implements [`Subject`] for its server, and declares the tests by [`suite!`].
//! `tests/memory.rs` of this crate does so for the store in memory.

#![forbid(unsafe_code)]
#![allow(clippy::missing_panics_doc, reason = "tests panic")]

mod contract;
mod damage;
mod memory;
mod races;
mod random;
mod silent;
mod site;
mod subject;
mod threads;
mod watched;

pub use contract::*;
pub use damage::a_damaged_row_is_replaced;
pub use memory::Memory;
pub use races::{CONNECTIONS, FAILURES, PROBES, Raced, no_probe_too_many_and_no_outcome_lost, race};
pub use random::the_store_does_what_the_circuit_does;
pub use silent::{no_lock_is_held_while_a_store_is_used, while_a_server_is_silent_everything_returns};
pub use site::{FOREVER, Site};
pub use subject::{PATIENCE, Subject, block_on, listen, name, namespace, outcomes};
pub use threads::processes_on_threads_share_a_circuit;

/// Declares a test for each promise of processes that use a store in real time. `$site` is an
/// expression of a new [`Site`], and may return from the test.
#[macro_export]
macro_rules! site_suite {
    ($site:expr) => {
        $crate::suite! { $site =>
            silent: no_lock_is_held_while_a_store_is_used
            silent: while_a_server_is_silent_everything_returns
            threads: processes_on_threads_share_a_circuit
        }
    };
}

/// Declares a test for each promise. `$subject` is an expression of a new [`Subject`], and may
/// return from the test.
#[macro_export]
macro_rules! suite {
    ($subject:expr) => {
        $crate::suite! { $subject =>
            contract: a_new_row_is_closed_in_a_generation_of_its_own
            contract: failures_of_all_processes_open_the_circuit
            contract: an_outcome_from_before_a_transition_does_not_count
            contract: as_many_probes_run_as_may
            contract: a_probe_counts_once_and_may_be_asked_for_again
            contract: a_dead_prober_frees_its_place
            contract: each_failure_of_the_probes_doubles_the_cool_down
            contract: a_circuit_is_forced_if_its_generation_is_the_expected_one
            contract: each_transition_is_told_with_its_row
            contract: a_window_of_time_forgets
            contract: a_window_that_was_emptied_follows_a_clock_that_is_set_back
            contract: a_clock_that_is_set_back_holds_up_no_call_for_longer_than_usual
            contract: a_refused_change_by_hand_follows_the_clock_too
            contract: other_settings_are_seen
            contract: fewer_probes_run_after_a_change_of_settings
            contract: a_row_that_was_lost_repeats_no_generation
            contract: a_name_may_be_any_text
            contract: impossible_settings_are_refused
            random: the_store_does_what_the_circuit_does
            races: no_probe_too_many_and_no_outcome_lost
        }
    };
    ($subject:expr => $($file:ident: $test:ident)+) => {$(
        #[test]
        fn $test() {
            $crate::$test(&$subject);
        }
    )+};
}
