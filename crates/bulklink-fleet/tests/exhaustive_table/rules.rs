//! What must be true of every command.

use bulklink_fleet::{Answer, CallId, Command, Era, Notice, Outcome, OwnerId, Settings, Ticket, Token};

use crate::world::{State, TERMS, Turn};

pub(crate) fn check(turn: &Turn) {
    accounts(turn);
    head(turn);
    if turn.answer.outcome == Outcome::Stale {
        return stale(turn);
    }
    assert!(is_current(turn), "a command of another era was carried out");
    grants(turn);
    order(turn);
    nothing_is_lost(turn);
    answers(turn);
    if has_moved_queue(turn) {
        nothing_is_left(turn);
    }
}

/// Leases and waiters are disjoint, and the account of the units is right.
fn accounts(turn: &Turn) {
    if let Some(m) = turn.after.settings {
        assert!(turn.after.leases.keys().all(|id| !turn.after.queue.contains_key(id)), "a lease waits");
        let extra: u64 = turn.after.leases.keys().map(|id| id.cost - 1).sum();
        assert_eq!(m.extra, extra, "units of leases beyond one each");
    }
}

fn head(turn: &Turn) {
    let Some(head) = turn.answer.head else {
        let is_release = matches!(turn.command, Command::Release { .. }) && turn.after.queue.is_empty();
        let is_grant = matches!(turn.answer.outcome, Outcome::Granted { .. });
        return assert!(is_release || is_grant, "an answer without a head");
    };
    let m = turn.after.settings;
    assert_eq!((head.now, head.epoch), (turn.now, m.map(|m| m.epoch)));
    let limit = m.map(|m| (m.limit, m.version)).unwrap_or_default();
    assert_eq!((head.limit, head.version), limit);
    let used = if m.is_some() { used(&turn.after) } else { 0 };
    assert_eq!((head.used, head.waiting), (used, turn.after.queue.len() as u64));
}

/// A command that is refused as stale changes nothing, except that ids are given back.
fn stale(turn: &Turn) {
    assert!(turn.before.settings.is_none() || !is_current(turn), "a current command is stale");
    if !matches!(turn.command, Command::Release { .. }) {
        assert_eq!(turn.before, turn.after);
    }
}

fn is_current(turn: &Turn) -> bool {
    let Some(m) = turn.before.settings else {
        return matches!(turn.command, Command::Open { .. } | Command::Release { .. });
    };
    match turn.command {
        Command::Acquire { era, .. } | Command::Beat { era, .. } => era == Era { epoch: m.epoch, run: m.run },
        _ => true,
    }
}

/// Units are granted only if they are free, after a quarantine, with new tokens; and each lease is
/// announced.
fn grants(turn: &Turn) {
    let Some(m) = turn.after.settings else { return };
    let new: Vec<_> = turn.after.leases.keys().filter(|id| !turn.before.leases.contains_key(id)).collect();
    let in_quarantine = turn.now < m.quarantine;
    assert!(new.is_empty() || in_quarantine || used(&turn.after) <= m.limit, "more is granted than there is");
    let announced = announced(turn);
    for id in new {
        assert!(announced.iter().any(|(found, _)| found == id) || is_adopted(turn, id), "{id} is not announced");
        assert!(!in_quarantine || is_adopted(turn, id), "{id} is granted in quarantine");
    }
    let mut highest = turn.highest;
    for (id, token) in announced {
        assert!(turn.after.leases.contains_key(&id), "{id} is announced and has no lease");
        assert!(token > highest, "token {token} after {highest}");
        highest = token;
    }
}

/// Returns the grants in the order of their tokens.
fn announced(turn: &Turn) -> Vec<(CallId, Token)> {
    let mut all = vec![];
    match (&turn.command, &turn.answer.outcome) {
        (Command::Acquire { id, .. }, Outcome::Granted { token }) => all.push((*id, *token)),
        (_, Outcome::Beaten { granted, .. }) => all.extend(granted),
        _ => {}
    }
    all.extend(turn.notices.iter().filter_map(|notice| match *notice {
        Notice::Granted { id, token, .. } => Some((id, token)),
        _ => None,
    }));
    all.sort_by_key(|(_, token)| *token);
    all
}

fn is_adopted(turn: &Turn, id: &CallId) -> bool {
    matches!(&turn.command, Command::Beat { leases, .. } if leases.contains(id))
}

/// No waiter with a smaller ticket is left behind a new grant.
fn order(turn: &Turn) {
    let ticket = |id: &CallId| {
        let restored = match &turn.command {
            Command::Beat { waiters, .. } => waiters.iter().find(|(found, _)| found == id).map(|(_, ticket)| *ticket),
            _ => None,
        };
        turn.before.queue.get(id).copied().or(restored).unwrap_or(Ticket::from(u64::MAX))
    };
    let mut last = None;
    for (id, _) in announced(turn) {
        // An adopted lease is older than the queue, and a repeated command announces a grant again.
        let is_old = turn.before.leases.contains_key(&id) || is_adopted(turn, &id);
        if is_old || last.is_some_and(|(_, before)| before == id) {
            continue;
        }
        let waited = Some((ticket(&id), id));
        assert!(last < waited, "{id} was granted after {last:?}");
        last = waited;
        let overtaken = turn.after.queue.iter().find(|(other, place)| (**place, **other) < (ticket(&id), id));
        assert_eq!(overtaken, None, "{id} overtakes");
    }
}

/// What is missing afterwards was given back, had expired, or was of no use to its process.
fn nothing_is_lost(turn: &Turn) {
    if turn.before.settings.is_none() {
        return;
    }
    let is_there = |id: &CallId| turn.after.leases.contains_key(id) || turn.after.queue.contains_key(id);
    let given_back = given_back(&turn.command);
    for (id, until) in turn.before.leases.iter().filter(|(id, _)| !is_there(id)) {
        assert!(given_back.contains(id) || *until <= turn.now, "the lease {id} is lost");
    }
    for id in turn.before.queue.keys().filter(|id| !is_there(id)) {
        let is_too_large = turn.notices.contains(&Notice::TooLarge { id: *id });
        let is_deaf = turn.deaf.contains(&id.owner);
        assert!(
            given_back.contains(id) || is_too_large || is_deaf || is_dead(turn, id.owner),
            "the waiter {id} is lost"
        );
    }
    for id in given_back.iter().filter(|id| !matches!(&turn.command, Command::Acquire { id: new, .. } if new == *id)) {
        assert!(!is_there(id), "{id} was given back");
    }
}

fn is_dead(turn: &Turn, owner: OwnerId) -> bool {
    let closes = matches!(turn.command, Command::Close { owner: closing, .. } if closing == owner);
    closes || turn.before.owners.get(&owner).is_none_or(|until| *until <= turn.now)
}

fn given_back(command: &Command) -> &[CallId] {
    match command {
        Command::Release { ids } | Command::Close { ids, .. } => ids,
        Command::Acquire { give_back, .. } => give_back,
        Command::Beat { gone, .. } => gone,
        _ => &[],
    }
}

/// The outcome is what the state says.
fn answers(turn: &Turn) {
    let Turn { now, before, after, .. } = turn;
    let m = after.settings.expect("the command is not stale");
    match (&turn.command, &turn.answer.outcome) {
        (Command::Acquire { id, .. }, Outcome::Granted { .. }) => {
            assert_eq!(after.leases.get(id), Some(&now.after(TERMS.ttl)), "{id} has a full lease");
        }
        (Command::Acquire { id, .. }, Outcome::Queued { ticket, position, .. }) => {
            assert_eq!(after.queue.get(id), Some(ticket));
            let ahead = after.queue.iter().filter(|(other, place)| (**place, **other) < (*ticket, *id)).count();
            assert_eq!(*position, ahead as u64);
            assert!(is_busy(turn, id.cost), "{id} waits although there is room");
        }
        (Command::Acquire { id, wait: false, .. }, Outcome::Saturated { .. }) => {
            assert!(is_busy(turn, id.cost), "{id} is rejected although there is room");
        }
        (Command::Acquire { wait: false, .. }, Outcome::Recovering { until }) => {
            assert!(now < until && *until == m.quarantine);
        }
        (Command::Acquire { queue, .. }, Outcome::QueueFull { .. }) => assert!(after.queue.len() as u64 >= *queue),
        (Command::Acquire { id, .. }, Outcome::TooLarge) => assert!(id.cost > m.limit),
        (Command::Open { known, run, .. }, Outcome::Opened { .. }) => {
            let is_other = |m: Settings| m.run != *run || known.is_some_and(|known| known != m.epoch);
            let is_torn = before.settings.is_none() && (!before.leases.is_empty() || !before.queue.is_empty());
            if before.settings.map_or(is_torn || known.is_some(), is_other) {
                assert_eq!(m.quarantine, now.after(TERMS.ttl), "a loss of data");
            }
            assert_eq!(m.run, *run);
        }
        (Command::Beat { leases, gone, .. }, Outcome::Beaten { lost, .. }) => {
            assert!(lost.is_empty() || *now >= m.quarantine, "a lease is lost in quarantine");
            for id in leases.iter().filter(|id| !gone.contains(id)) {
                let is_renewed = after.leases.get(id) == Some(&now.after(TERMS.ttl));
                assert_ne!(is_renewed, lost.contains(id), "{id} is renewed or lost");
            }
        }
        (Command::Release { .. } | Command::SetLimit { .. } | Command::Close { .. }, Outcome::Done)
        | (Command::Reap { .. }, Outcome::Reaped { .. }) => {}
        (command, outcome) => panic!("{outcome:?} of {command:?}"),
    }
}

/// Whether a call that does not wait yet cannot be admitted.
fn is_busy(turn: &Turn, cost: u64) -> bool {
    let m = turn.after.settings.expect("the command is not stale");
    turn.now < m.quarantine || !turn.after.queue.is_empty() || used(&turn.after) + cost > m.limit
}

fn has_moved_queue(turn: &Turn) -> bool {
    match turn.answer {
        Answer { head: None, .. } | Answer { outcome: Outcome::Granted { .. }, .. } => false,
        Answer { outcome: Outcome::Queued { position, .. }, .. } => position > 0 || turn.before.queue.is_empty(),
        _ => true,
    }
}

/// What has expired is gone, and the head of the queue does not fit, unless there is more to do.
fn nothing_is_left(turn: &Turn) {
    let m = turn.after.settings.expect("the command is not stale");
    let head = turn.answer.head.expect("the queue has moved");
    if head.more {
        let expired = turn.before.leases.values().filter(|until| **until <= turn.now).count();
        let restored = if let Command::Beat { waiters, .. } = &turn.command { waiters.len() } else { 0 };
        let waited = turn.before.queue.len() + restored;
        return assert!(expired >= 3 || waited >= 3, "nothing was cut off");
    }
    assert!(turn.after.leases.values().all(|until| *until > turn.now), "an expired lease is left");
    let first = turn.after.queue.iter().min_by_key(|(id, ticket)| (**ticket, **id));
    if let (Some((id, _)), true) = (first, turn.now >= m.quarantine) {
        // A head that is too large for a reduced limit leaves when there is room for a smaller one.
        let used = used(&turn.after);
        let fits = used + id.cost <= m.limit || id.cost > m.limit;
        assert!(used >= m.limit || !fits, "{id} waits although there is room");
    }
}

fn used(state: &State) -> u64 {
    state.leases.keys().map(|id| id.cost).sum()
}
