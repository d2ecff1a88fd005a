//! Hands out free units: first up to the level, then in turn, each in the order of the queue.

use std::collections::VecDeque;

use super::{Data, Notice, ProcessId, Publish, ServerTime, Token};

/// How many processes a step looks at together, in the order of the queue: it must not look at a
/// long queue for each unit.
const LOOKED_AT: usize = 32;

/// The processes that were granted units in a step, in this order, and their units before.
type Grown = Vec<(ProcessId, u32)>;

impl Data {
    /// Hands out free units, and notifies processes. The caller learns of its units by the reply.
    pub(super) fn pump(&mut self, now: ServerTime, caller: Option<ProcessId>, publish: Publish<'_>) {
        if now < self.quarantine || self.serve_alone(caller) {
            return;
        }
        let before = self.level_at(now);
        while self.is_contended() {
            self.update_level(now);
            let grown = self.hand_out();
            if self.is_contended() {
                self.tight = now.after(self.declaration.terms.calm);
            }
            if self.notify(now, caller, &grown, publish) {
                break;
            }
        }
        self.tell(now, before, publish);
    }

    /// Serves the caller if no other process waits and enough is free: then no level is needed.
    fn serve_alone(&mut self, caller: Option<ProcessId>) -> bool {
        let (free, limit) = (self.free(), self.limit);
        let mut waiting = self.rows.iter_mut().filter(|(_, row)| row.waits(limit));
        match (waiting.next(), waiting.next()) {
            (Some((process, row)), None) if Some(*process) == caller && row.need - row.granted <= free => {
                (row.granted, row.ticket) = (row.need, 0);
                true
            }
            _ => false,
        }
    }

    /// Whether a process waits that can be served, or more is granted than there is.
    fn is_contended(&self) -> bool {
        self.granted() > u64::from(self.limit) || self.rows.values().any(|row| row.waits(self.limit))
    }

    fn hand_out(&mut self) -> Grown {
        let mut grown = Grown::new();
        while self.free() > 0 {
            let queue = self.queue();
            if queue.is_empty() || !self.hand_out_to(&queue, &mut grown) {
                break;
            }
        }
        grown
    }

    /// Hands out units to these, until their needs are met. Returns `false` if too few are
    /// free for the next: then they are kept for it.
    fn hand_out_to(&mut self, queue: &[ProcessId], grown: &mut Grown) -> bool {
        let (mut next, mut behind) = (VecDeque::new(), vec![]);
        for &process in queue {
            let row = &self.rows[&process];
            let (step, missing) = (row.step(), row.fair(self.level).saturating_sub(row.granted));
            let below = if missing < step { 0 } else { missing.min(self.free()) };
            if below > 0 && below < step || below == 0 && missing >= step {
                return false;
            }
            if self.grow(process, below, grown) {
                if below > 0 { behind.push(process) } else { next.push_back(process) }
            }
        }
        next.extend(behind);
        while let Some(process) = next.pop_front() {
            let row = &self.rows[&process];
            let (step, free) = (row.step(), self.free());
            if step > free {
                return false;
            }
            // Equal parts, in few steps, and single units at the end.
            let part = free / u32::try_from(next.len() + 1).unwrap_or(u32::MAX);
            let units = part.max(step).min(row.need - row.granted);
            if self.grow(process, units, grown) {
                next.push_back(process);
            }
        }
        true
    }

    /// Returns the first processes that wait and can be served, by their tickets.
    pub(super) fn queue(&self) -> Vec<ProcessId> {
        let waiting = self.rows.iter().filter(|(_, row)| row.waits(self.limit));
        let mut queue: Vec<_> = waiting.map(|(process, row)| (row.ticket, *process)).collect();
        queue.sort_unstable();
        queue.into_iter().take(LOOKED_AT).map(|(_, process)| process).collect()
    }

    /// Adds units to a row. Returns whether the process still waits: then it goes to the end of the
    /// queue.
    fn grow(&mut self, process: ProcessId, units: u32, grown: &mut Grown) -> bool {
        let ticket = if units == 0 { 0 } else { self.next_ticket() };
        let Some(row) = self.rows.get_mut(&process) else { return false };
        if units > 0 {
            if grown.iter().all(|(known, _)| *known != process) {
                grown.push((process, row.granted));
            }
            row.granted += units;
            row.ticket = if row.is_hungry() { ticket } else { 0 };
        }
        row.is_hungry()
    }

    /// Notifies the processes that have grown. Undoes the grants of those that do not listen, and
    /// returns whether there was none.
    fn notify(&mut self, now: ServerTime, caller: Option<ProcessId>, grown: &Grown, publish: Publish<'_>) -> bool {
        let mut all_listen = true;
        for &(process, before) in grown.iter().filter(|(process, _)| Some(*process) != caller) {
            let token = self.next_token(now, Token::default());
            let earlier = self.rows.get_mut(&process).map(|row| std::mem::replace(&mut row.token, token));
            if !publish(Notice::Granted(self.grant(now, process))) {
                all_listen = false;
                let ticket = self.next_ticket();
                let Some(row) = self.rows.get_mut(&process) else { continue };
                (row.granted, row.heard, row.token) = (before, ServerTime::default(), earlier.unwrap_or_default());
                row.ticket = if row.ticket == 0 { ticket } else { row.ticket };
            }
        }
        all_listen
    }
}
