//! A bulkhead that is read in pages.

use std::collections::HashMap;
use std::hash::Hash;

use bulklink_redis::{CallId, ServerTime, SessionStatus, Settings, Status, StoreError, Ticket};

/// How many leases, waiters and processes one command reads: so that the server is never busy for
/// long.
pub(crate) const PAGE: u64 = 1000;

/// How often a bulkhead is read if it changes between its pages.
const PASSES: usize = 3;

/// All pages of a bulkhead.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) now: ServerTime,
    pub(crate) config: Settings,
    pub(crate) leases: u64,
    pub(crate) waiting: u64,
    pub(crate) expired: u64,
    /// The first to expire first.
    pub(crate) holders: Vec<(CallId, ServerTime)>,
    /// In their order.
    pub(crate) waiters: Vec<(CallId, Ticket)>,
    /// By what they say about themselves.
    pub(crate) sessions: Vec<SessionStatus>,
}

impl Reading {
    /// Whether nothing was missed of what was asked for.
    pub(crate) fn has_all(&self, top: usize) -> bool {
        let has = |count: usize, all: u64| count >= top || count as u64 >= all;
        has(self.holders.len(), self.leases) && has(self.waiters.len(), self.waiting)
    }

    /// The units in use.
    pub(crate) fn used(&self) -> u64 {
        self.leases + self.config.extra
    }
}

/// Reads a bulkhead with all its processes, and with `top` leases and waiters or more, from the
/// pages at offsets. Returns `None` if there is none.
///
/// Leases move while their pages are read: each beat puts those of a process at the end. So one may
/// be missed, and then the bulkhead is read again.
pub(crate) async fn read(
    mut page_at: impl AsyncFnMut(u64) -> Result<Status, StoreError>,
    top: usize,
) -> Result<Option<Reading>, StoreError> {
    for _ in 1..PASSES {
        match read_once(&mut page_at, top).await? {
            Some(reading) if !reading.has_all(top) => {}
            reading => return Ok(reading),
        }
    }
    read_once(&mut page_at, top).await
}

async fn read_once(
    page_at: &mut impl AsyncFnMut(u64) -> Result<Status, StoreError>,
    top: usize,
) -> Result<Option<Reading>, StoreError> {
    let (mut holders, mut waiters, mut sessions) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut offset = 0;
    loop {
        let status = page_at(offset).await?;
        let Some(config) = status.settings else { return Ok(None) };
        let is_full = |page: usize| page as u64 == PAGE;
        let go_on = is_full(status.session_page.len())
            || (is_full(status.lease_page.len()) && holders.len() + status.lease_page.len() < top)
            || (is_full(status.waiter_page.len()) && waiters.len() + status.waiter_page.len() < top);
        holders.extend(status.lease_page);
        waiters.extend(status.waiter_page);
        sessions.extend(status.session_page.into_iter().map(|session| (session.owner, session)));
        if !go_on {
            let mut sessions: Vec<_> = sessions.into_values().collect();
            sessions.sort_by(|a, b| (&a.info, a.owner).cmp(&(&b.info, b.owner)));
            let Status { now, leases, waiting, expired, .. } = status;
            let (holders, waiters) = (in_order(holders), in_order(waiters));
            return Ok(Some(Reading { now, config, leases, waiting, expired, holders, waiters, sessions }));
        }
        offset += PAGE;
    }
}

fn in_order<K: Hash + Ord, V: Ord + Copy>(entries: HashMap<K, V>) -> Vec<(K, V)> {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by(|(a, x), (b, y)| (x, a).cmp(&(y, b)));
    entries
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bulklink_redis::{OwnerId, Terms};

    use super::*;

    const LEASES: u64 = 1500;

    fn page(leases: impl Iterator<Item = u64>) -> Status {
        let terms = Terms { ttl: Duration::from_secs(1), claim: Duration::from_secs(1), block: 1 };
        let settings = Settings {
            epoch: 1.into(),
            limit: LEASES,
            version: 1.into(),
            declared: LEASES,
            config: 1,
            terms,
            quarantine: 0.into(),
            extra: 0,
            token: 1.into(),
            ticket: 1.into(),
            run: None,
        };
        let id = |seq| CallId { owner: OwnerId::from(1), seq, cost: 1 };
        Status {
            now: 1.into(),
            settings: Some(settings),
            leases: LEASES,
            waiting: 0,
            expired: 0,
            lease_page: leases.map(|seq| (id(seq), (10_000 + seq).into())).collect(),
            waiter_page: vec![],
            session_page: vec![],
        }
    }

    /// Reads pages, of which the second lacks its first lease so many times. Returns how many pages
    /// were read, and how many leases there are in the end.
    fn pages_and_leases(misses: usize, top: usize) -> (usize, usize, bool) {
        let mut reads = vec![];
        let page_at = async |offset| {
            reads.push(offset);
            let has_moved = offset > 0 && reads.len() <= 2 * misses;
            let first = offset + u64::from(has_moved);
            Ok(page(first..LEASES.min(offset + PAGE)))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let reading = runtime.block_on(read(page_at, top)).unwrap().unwrap();
        assert!(reading.holders.is_sorted_by_key(|(_, until)| *until));
        (reads.len(), reading.holders.len(), reading.has_all(top))
    }

    #[test]
    fn a_bulkhead_that_moves_while_it_is_read_is_read_again() {
        assert_eq!(pages_and_leases(0, usize::MAX), (2, 1500, true));
        assert_eq!(pages_and_leases(1, usize::MAX), (4, 1500, true));
        assert_eq!(pages_and_leases(2, usize::MAX), (6, 1500, true));
        assert_eq!(pages_and_leases(3, usize::MAX), (6, 1499, false));
    }

    #[test]
    fn no_more_pages_are_read_than_are_wanted() {
        assert_eq!(pages_and_leases(0, 1000), (1, 1000, true));
        assert_eq!(pages_and_leases(0, 1001), (2, 1500, true));
        assert_eq!(pages_and_leases(0, 0), (1, 1000, true));
    }
}
