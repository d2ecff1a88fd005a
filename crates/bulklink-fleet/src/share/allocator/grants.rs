//! Hands out free units: first up to the level, then in turn, each in the order of the queue.

use std::collections::{BTreeMap, VecDeque};

use super::row::Row;
use super::{Data, Notice, OwnerId, Publish, ServerTime, Token};

/// The processes that were granted units in a step, and what they had before.
type Grown = BTreeMap<OwnerId, u32>;

impl Data {
    /// Hands out free units, and notifies processes. The caller learns of its units by the reply.
    pub(super) fn pump(&mut self, now: ServerTime, caller: Option<OwnerId>, publish: Publish<'_>) {
        if now < self.quarantine || self.serve_alone(caller) {
            return;
        }
        let before = self.level_at(now);
        while self.is_contended(now) {
            self.update_level(now);
            let grown = self.hand_out(now);
            if self.is_contended(now) {
                self.tight = now.after(self.declaration.terms.calm);
            }
            if self.notify(now, caller, &grown, publish) {
                break;
            }
        }
        self.tell(now, before, publish);
    }

    /// Serves the caller if no other process waits and enough is free: then no level is needed.
    fn serve_alone(&mut self, caller: Option<OwnerId>) -> bool {
        let free = self.free();
        let mut hungry = self.rows.iter_mut().filter(|(_, row)| row.is_hungry());
        match (hungry.next(), hungry.next()) {
            (Some((process, row)), None) if Some(*process) == caller && row.need - row.granted <= free => {
                (row.granted, row.ticket) = (row.need, 0);
                true
            }
            _ => false,
        }
    }

    /// Whether a process waits that can be served, or more is granted than there is.
    fn is_contended(&self, now: ServerTime) -> bool {
        let waits = |row: &Row| row.is_hungry() && self.is_served(now, row);
        self.granted() > u64::from(self.limit) || self.rows.values().any(waits)
    }

    /// Whether the process has stated its condition within a claim.
    pub(super) fn is_heard(&self, now: ServerTime, row: &Row) -> bool {
        row.stated.after(self.declaration.terms.claim) > now
    }

    /// Whether the process can be granted units.
    pub(super) fn is_served(&self, now: ServerTime, row: &Row) -> bool {
        self.is_heard(now, row) && !row.is_deaf
    }

    fn hand_out(&mut self, now: ServerTime) -> Grown {
        let (mut free, mut grown, level) = (self.free(), Grown::new(), self.level);
        for process in self.queue(now) {
            let row = &self.rows[&process];
            let below = row.fair(level).saturating_sub(row.granted).min(free);
            free -= below;
            self.grow(process, below, &mut grown);
        }
        let mut queue = VecDeque::from(self.queue(now));
        while let Some(process) = queue.pop_front().filter(|_| free > 0) {
            let row = &self.rows[&process];
            // Equal parts, in few steps, and single units at the end.
            let part = free / u32::try_from(queue.len() + 1).unwrap_or(u32::MAX);
            let units = part.max(1).min(row.need - row.granted);
            free -= units;
            self.grow(process, units, &mut grown);
            if self.rows[&process].is_hungry() {
                queue.push_back(process);
            }
        }
        grown
    }

    /// Returns the processes that wait and can be served, by their tickets.
    fn queue(&self, now: ServerTime) -> Vec<OwnerId> {
        let waits = self.rows.iter().filter(|(_, row)| row.is_hungry() && self.is_served(now, row));
        let mut queue: Vec<_> = waits.map(|(process, row)| (row.ticket, *process)).collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, process)| process).collect()
    }

    /// Adds units to a row. A process that still waits goes to the end of the queue.
    fn grow(&mut self, process: OwnerId, units: u32, grown: &mut Grown) {
        if units == 0 {
            return;
        }
        let ticket = self.next_ticket();
        let Some(row) = self.rows.get_mut(&process) else { return };
        grown.entry(process).or_insert(row.granted);
        row.granted += units;
        row.ticket = if row.is_hungry() { ticket } else { 0 };
    }

    /// Notifies the processes that have grown. Undoes the grants of those that do not listen, and
    /// returns whether there was none.
    fn notify(&mut self, now: ServerTime, caller: Option<OwnerId>, grown: &Grown, publish: Publish<'_>) -> bool {
        let mut all_listen = true;
        for (&process, &before) in grown.iter().filter(|(process, _)| Some(**process) != caller) {
            let token = self.next_token(now, Token::default());
            let earlier = self.rows.get_mut(&process).map(|row| std::mem::replace(&mut row.token, token));
            if !publish(Notice::Granted(self.grant(now, process))) {
                all_listen = false;
                let ticket = self.next_ticket();
                let Some(row) = self.rows.get_mut(&process) else { continue };
                (row.granted, row.is_deaf, row.token) = (before, true, earlier.unwrap_or_default());
                row.ticket = if row.ticket == 0 { ticket } else { row.ticket };
            }
        }
        all_listen
    }
}
