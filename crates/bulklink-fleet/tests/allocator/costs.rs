//! Calls that cost several units: a process is granted no units that it cannot use.

use bulklink_fleet::ProcessId;
use bulklink_fleet::share::{Level, Reply, Statement};

use crate::{Server, statement};

impl Server {
    /// A statement of a process with a next call that needs `least` units in all.
    fn state_for(&mut self, process: u128, keep: u32, need: u32, least: u32) -> Reply {
        self.seq += 1;
        self.now += 1;
        self.sync(Statement { seq: self.seq, keep, need, least, ..statement(process) }).unwrap()
    }
}

#[test]
fn free_units_are_kept_for_the_first_until_they_are_enough() {
    let mut server = Server::new();
    assert_eq!(server.state_for(1, 0, 8, 0).grant.units, 8);
    assert_eq!(server.state_for(2, 0, 7, 7).grant.units, 0, "two would stay idle");
    assert_eq!(server.state_for(3, 0, 7, 5).grant.units, 0, "the second is first in line");
    server.state_for(1, 4, 4, 0);
    assert_eq!(server.grants(), [], "six are free");
    server.state_for(1, 3, 3, 0);
    assert_eq!(server.grants(), [(ProcessId::from(2), 7)]);
    server.state_for(2, 3, 3, 0);
    assert_eq!(server.grants(), [], "four are free");
    server.state_for(1, 2, 2, 0);
    assert_eq!(server.grants(), [(ProcessId::from(3), 5)]);
}

#[test]
fn the_level_leaves_room_for_the_next_call_of_the_first() {
    let mut server = Server::new();
    server.state_for(1, 0, 10, 0);
    assert_eq!(server.state_for(2, 0, 20, 8).grant.level, Some(Level::from(2)), "not 5");
    server.state_for(1, 2, 20, 3);
    assert_eq!(server.grants(), [(ProcessId::from(2), 8)]);
    assert_eq!(server.state_for(2, 8, 20, 16).grant.level, Some(Level::from(5)), "the first is first");
}

/// Also if its part by the level is enough for its next call.
#[test]
fn free_units_below_the_level_are_kept_for_the_first_too() {
    let mut server = Server::new();
    assert_eq!(server.state_for(1, 0, 6, 0).grant.units, 6);
    let reply = server.state_for(2, 0, 6, 5);
    assert_eq!((reply.grant.units, reply.grant.level), (0, Some(Level::from(5))), "four are free, and no five");
    server.state_for(1, 5, 6, 0);
    assert_eq!(server.grants(), [(ProcessId::from(2), 5)]);
}

#[test]
fn a_call_that_costs_more_than_the_limit_is_not_in_line() {
    let mut server = Server::new();
    let reply = server.state_for(1, 0, 11, 11);
    assert_eq!((reply.grant.units, reply.grant.level), (0, None));
    assert_eq!(server.state_for(2, 0, 10, 1).grant.units, 10, "it holds up none");
    server.set_limit(12);
    server.state_for(2, 0, 0, 0);
    assert_eq!(server.grants(), [(ProcessId::from(1), 11)]);
}
