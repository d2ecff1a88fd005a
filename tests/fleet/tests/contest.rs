//! Short contests in real processes, judged by the witness.

#![cfg(unix)]

use std::time::Duration;

use bulklink_contest::scene::{Arena, attempts, storm};
use bulklink_contest::task::Kind;
use bulklink_contest::witness::{
    Outcome, false_rejections, hand_offs, jain, overtaken, peak, percentile, unfenced, waits,
};
use bulklink_servers::require;

fn arena() -> Result<Arena, bulklink_servers::Missing> {
    Arena::start(env!("CARGO_BIN_EXE_fleet-contest").into())
}
