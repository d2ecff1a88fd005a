//! The machines of one process: its units and their lease, and the policy of using them.

mod policy;

use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink_fleet::share::{
    Conflict, Connection, Declaration, Demand, Difference, Grant, Level, LimitRefusal, Notice, Refusal, Reply, Share,
    Terms,
};
use bulklink_fleet::{ProcessId, Version};

const PROCESS: u128 = 7;

fn at(millis: u64) -> Instant {
    Instant::EPOCH.saturating_add(Duration::from_millis(millis))
}

fn share() -> Share {
    let declaration = Declaration { config: 1, limit: 10, terms: Terms::default() };
    Share::new(ProcessId::from(PROCESS), 1, declaration)
}

fn need(keep: u32, need: u32) -> Demand {
    Demand { keep, need, ..Demand::default() }
}

/// Sends a statement, and takes a reply that grants `units` for `valid` milliseconds.
fn granted(share: &mut Share, now: u64, demand: Demand, units: u32, valid: u64) -> Reply {
    let statement = share.send(at(now), Connection::default(), demand);
    let grant = Grant {
        process: statement.process,
        seq: statement.seq,
        serial: 100.into(),
        units,
        valid: Duration::from_millis(valid),
        token: 50.into(),
        epoch: 1.into(),
        level: None,
    };
    let reply = Reply {
        grant,
        due: None,
        quarantine: Duration::ZERO,
        longest: Duration::from_secs(10),
        limit: 10,
        version: Version::from(1),
        processes: 1,
        weights: 1,
    };
    assert!(share.take(at(now), &reply));
    reply
}

#[test]
fn units_are_usable_from_sending_until_the_lease_ends() {
    let mut share = share();
    let reply = granted(&mut share, 0, need(0, 3), 3, 100);
    assert_eq!((share.usable(at(99)), share.usable(at(100))), (3, 0));
    assert_eq!((share.deadline(), share.token()), (Some(at(100)), reply.grant.token));
    assert_eq!(share.epoch(), Some(reply.grant.epoch));
    // A reply that takes 40 ms: the lease is counted from sending.
    let statement = share.send(at(50), Connection::default(), need(3, 3));
    let grant = Grant { seq: statement.seq, ..reply.grant };
    assert!(share.take(at(90), &Reply { grant, ..reply }));
    assert_eq!(share.deadline(), Some(at(150)));
    assert!(!share.lapse(at(149)) && share.lapse(at(150)) && !share.lapse(at(151)));
    assert_eq!(share.deadline(), None);
}

#[test]
fn units_that_are_given_back_are_not_usable_from_sending_on() {
    let mut share = share();
    granted(&mut share, 0, need(0, 3), 3, 100);
    let statement = share.send(at(10), Connection::default(), need(1, 1));
    assert_eq!((statement.keep, share.usable(at(10))), (1, 1));
    assert_eq!(share.send(at(10), Connection::default(), need(3, 3)).keep, 1, "no more than there is");
}

#[test]
fn a_share_knows_the_fleet_of_the_latest_reply() {
    let mut share = share();
    assert_eq!((share.limit(), share.fleet()), ((0, Version::default()), (0, 0)));
    let reply = granted(&mut share, 0, need(0, 3), 3, 100);
    share.send(at(10), Connection::default(), need(3, 3));
    let grant = Grant { seq: reply.grant.seq + 1, ..reply.grant };
    let reply = Reply { grant, limit: 20, version: Version::from(4), processes: 3, weights: 5, ..reply };
    assert!(share.take(at(11), &reply));
    assert_eq!((share.limit(), share.fleet()), ((20, Version::from(4)), (3, 5)));
    // A change that the process itself has made comes before the next reply, and an old one late.
    share.set_limit(30, Version::from(4));
    assert_eq!(share.limit(), (20, Version::from(4)));
    share.set_limit(30, Version::from(5));
    assert_eq!(share.limit(), (30, Version::from(5)));
}

#[test]
fn a_part_of_a_limit_is_by_weight_and_at_least_one_unit() {
    let declaration = Declaration { config: 1, limit: 10, terms: Terms::default() };
    let part = |weight, limit, weights| Share::new(ProcessId::from(PROCESS), weight, declaration).part(limit, weights);
    let parts = [part(1, 20, 4), part(3, 20, 4), part(1, 10, 40), part(9, 10, 4), part(0, 8, 0)];
    assert_eq!(parts, [5, 15, 1, 10, 8]);
}

#[test]
fn only_the_latest_statement_counts() {
    let mut share = share();
    let old = granted(&mut share, 0, need(0, 3), 3, 100);
    share.send(at(10), Connection::default(), need(1, 1));
    assert!(!share.take(at(11), &old) && !share.take_notice(at(11), &Notice::Granted(old.grant)));
    assert_eq!(share.usable(at(11)), 1);
    let other = Grant { process: ProcessId::from(8), seq: old.grant.seq + 1, ..old.grant };
    assert!(!share.take_notice(at(11), &Notice::Granted(other)));
}

#[test]
fn a_statement_that_was_refused_takes_no_units_away() {
    let mut share = share();
    granted(&mut share, 0, need(0, 3), 3, 100);
    share.send(at(10), Connection::default(), need(3, 5));
    assert!(share.is_pending());
    share.give_up();
    assert_eq!((share.is_pending(), share.usable(at(99))), (false, 3));
}

#[test]
fn a_share_that_is_contradicted_declares_what_the_fleet_has_if_it_has_had_an_answer() {
    let terms = Terms { claim: Duration::from_secs(9), ..Terms::default() };
    let of = |config| Declaration { config, limit: 2, terms };
    let conflict = |config| {
        let difference = Difference::Limit { own: 10, fleet: 2 };
        Refusal::Conflict(Conflict { fleet: of(config).into(), declarer: ProcessId::from(9), difference })
    };
    let mut share = share();
    assert!(!share.refuse(&conflict(1)), "it is about to join");
    granted(&mut share, 0, need(0, 3), 3, 100);
    share.send(at(10), Connection::default(), need(3, 3));
    assert!(!share.refuse(&Refusal::Stale) && !share.refuse(&conflict(2)), "of another configuration");
    assert!(share.refuse(&conflict(1)));
    assert_eq!((share.usable(at(10)), share.is_pending()), (3, false));
    let next = share.send(at(10), Connection::default(), need(3, 3)).declaration;
    assert_eq!(next, of(1));
    let mut joining = self::share().yielding(true);
    assert!(joining.refuse(&conflict(1)), "it yields from the first statement on");
}

/// A notice can come before the reply to the same statement, and neither takes units away.
#[test]
fn a_notice_and_a_reply_come_in_any_order() {
    for notice_first in [false, true] {
        let mut share = share();
        let reply = granted(&mut share, 0, need(0, 0), 0, 30);
        let statement = share.send(at(10), Connection::default(), need(0, 3));
        let grant = Grant { seq: statement.seq, ..reply.grant };
        let (reply, notice) = (Reply { grant, ..reply }, Notice::Granted(Grant { units: 2, ..grant }));
        if notice_first {
            share.take_notice(at(11), &notice);
            assert!(share.is_pending());
        }
        share.take(at(11), &reply);
        if !notice_first {
            share.take_notice(at(11), &notice);
        }
        assert_eq!((share.usable(at(39)), share.usable(at(40)), share.is_pending()), (2, 0, false));
    }
}

/// The link hands a notice over where it reads it, and a reply to the task that has asked: so a
/// notice overtakes the reply that came before it.
#[test]
fn a_reply_does_not_hide_a_level_that_came_after_it() {
    let tight = |level: u32| Notice::Tight(Level::from(level));
    for (notices, level, firm) in [
        (vec![tight(5)], None, Some(5)),
        (vec![tight(5), tight(7)], None, Some(5)),
        (vec![tight(5)], Some(3), Some(3)),
        (vec![tight(5)], Some(7), Some(5)),
        (vec![], Some(7), Some(7)),
        (vec![], None, None),
    ] {
        let mut share = share();
        let reply = granted(&mut share, 0, need(0, 3), 3, 100);
        // Messages from before the statement are over with its reply.
        share.tighten(Level::from(1));
        let statement = share.send(at(10), Connection::default(), need(3, 3));
        for notice in &notices {
            share.take_notice(at(11), notice);
        }
        let grant = Grant { seq: statement.seq, level: level.map(Level::from), ..reply.grant };
        assert!(share.take(at(12), &Reply { grant, ..reply }));
        assert_eq!(share.firm(), firm, "{notices:?} {level:?}");
        // The next reply counts as it is.
        let statement = share.send(at(20), Connection::default(), need(3, 3));
        let grant = Grant { seq: statement.seq, level: None, ..reply.grant };
        assert!(share.take(at(21), &Reply { grant, ..reply }));
        assert_eq!(share.firm(), None);
    }
}

/// A statement that was processed twice: the later row replaces the earlier one.
#[test]
fn a_later_serial_replaces_the_units() {
    let mut share = share();
    let reply = granted(&mut share, 0, need(0, 3), 3, 100);
    let later = Grant { serial: 200.into(), units: 1, ..reply.grant };
    assert!(share.take_notice(at(1), &Notice::Granted(later)));
    assert_eq!(share.usable(at(1)), 1);
    assert!(!share.take(at(2), &reply));
    assert_eq!(share.usable(at(2)), 1);
}

/// The epoch of data is named for as long as units of it can be held, and with it its lease.
#[test]
fn an_epoch_is_named_for_a_lease() {
    let mut share = share();
    let after = |uptime| Connection { run: None, uptime: Some(Duration::from_millis(uptime)) };
    let first = share.send(at(0), Connection::default(), need(0, 1));
    assert_eq!((first.epoch, first.longest), (None, Duration::from_secs(10)));
    assert_eq!(
        [9_999, 10_000].map(|uptime| share.clone().send(at(0), after(uptime), need(0, 1)).is_young),
        [true, false]
    );
    let reply = granted(&mut share, 0, need(0, 1), 1, 100);
    share.take(at(0), &Reply { longest: Duration::from_secs(20), ..reply });
    for (now, is_named) in [(19_999, true), (20_000, false)] {
        let statement = share.clone().send(at(now), after(15_000), need(0, 1));
        let longest = Duration::from_secs(if is_named { 20 } else { 10 });
        assert_eq!((statement.epoch.is_some(), statement.longest), (is_named, longest));
        assert_eq!(statement.is_young, is_named, "younger than the longest lease");
    }
}

#[test]
fn hostile_replies_are_harmless() {
    let mut share = share();
    let reply = granted(&mut share, 0, need(0, 1), 1, 100);
    let statement = share.send(at(1), Connection::default(), need(u32::MAX, u32::MAX));
    let grant = Grant {
        seq: statement.seq,
        serial: u64::MAX.into(),
        units: u32::MAX,
        valid: Duration::MAX,
        token: u64::MAX.into(),
        level: Some(Level::UNBOUNDED),
        ..reply.grant
    };
    share.take(at(1), &Reply { grant, due: Some(Duration::MAX), longest: Duration::MAX, ..reply });
    assert_eq!((share.usable(at(2)), share.firm()), (u32::MAX, Some(u32::MAX)));
    assert_eq!(share.usable(at(86_400_001)), 0, "at most a day");
    share.send(Instant::FAR_FUTURE, Connection::default(), need(0, 0));
}

#[test]
fn a_notice_is_read_from_its_text() {
    let grant = granted(&mut share(), 0, need(0, 3), 3, 100).grant;
    let process = ProcessId::from(PROCESS);
    let leveled = Grant { level: Some(Level::from(4)), ..grant };
    for notice in [Notice::Granted(grant), Notice::Granted(leveled), Notice::Tight(Level::UNBOUNDED)] {
        assert_eq!(Notice::of_text(process, &notice.text()), Some(notice));
    }
    for text in ["", "t", "t x", "t -1", "s 1 2 3", "x 1"] {
        assert_eq!(Notice::of_text(process, text), None, "{text}");
    }
}

#[test]
fn a_limit_that_was_not_changed_says_why() {
    let version = LimitRefusal::Version { current: Version::from(4), limit: 20 };
    let texts = [LimitRefusal::Absent, version].map(|refusal| refusal.to_string());
    assert_eq!(texts, ["no process has declared a limit", "the limit is 20, in version 4"]);
}
