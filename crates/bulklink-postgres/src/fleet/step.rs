//! What commands do to a row: all decisions are [`Table`](bulklink_fleet::Table)'s, and this has no
//! input and output.

use std::collections::BTreeSet;

use bulklink_fleet::{Answer, Command, Name, Notice, OwnerId, ServerTime};

use super::row::{Kept, Line, Row, notice_text};

/// The link on which commands come.
#[derive(Clone, Debug)]
pub(crate) struct Me {
    pub(crate) owner: OwnerId,
    pub(crate) line: Line,
}

/// What came of commands, once they are committed.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// The answers, each with the notices that its command caused for its own process.
    pub(crate) answers: Vec<(Vec<Notice>, Answer)>,
    /// The links for which there are notices: their keys, for each message.
    pub(crate) keys: Vec<i64>,
    /// Their channels.
    pub(crate) channels: Vec<String>,
    /// The messages.
    pub(crate) messages: Vec<String>,
}

impl Row {
    /// Returns the notices for a link that were not told by number `seen`.
    pub(crate) fn notices_for(&self, key: i64, seen: u64) -> impl Iterator<Item = (u64, Notice)> + '_ {
        let is_new = move |kept: &&Kept| kept.key == key && kept.number > seen;
        self.notices.iter().filter(is_new).map(|kept| (kept.number, kept.notice))
    }

    /// Applies commands of one process, one after the other.
    ///
    /// `listens` says whether the process is told of this bulkhead. Links in `dead` have ended.
    pub(crate) fn apply<'a>(
        &mut self,
        now: ServerTime,
        me: &Me,
        listens: bool,
        dead: &BTreeSet<i64>,
        name: &Name,
        commands: impl Iterator<Item = &'a Command>,
    ) -> Done {
        let mut done = Done::default();
        self.lines.retain(|_, line| !dead.contains(&line.key));
        let mut has_reaped = false;
        for command in commands {
            match command {
                Command::Close { owner, .. } => drop(self.lines.remove(owner)),
                // It changes nothing, and may come first.
                Command::Status { .. } => {}
                _ if listens => drop(self.lines.insert(me.owner, me.line.clone())),
                _ => {}
            }
            has_reaped |= matches!(command, Command::Reap { .. });
            let mut told = vec![];
            let Row { table, lines, notices, last } = self;
            let answer = table.apply(now, command, &mut |owner, notice| {
                let Some(Line { key, channel }) = lines.get(&owner) else { return false };
                if *key == me.line.key {
                    told.push(notice);
                    return true;
                }
                // Above all earlier numbers, also above those of a row that was lost.
                *last = (*last + 1).max(now.into());
                notices.push(Kept { number: *last, key: *key, notice });
                done.keys.push(*key);
                done.channels.push(channel.clone());
                done.messages.push(format!("{last} {name} {}", notice_text(&notice)));
                true
            });
            done.answers.push((told, answer));
        }
        if has_reaped {
            let owners: BTreeSet<_> = self.owners().into_iter().collect();
            self.lines.retain(|owner, _| owners.contains(owner));
        }
        // This link has read its own.
        let keys: BTreeSet<_> = self.lines.values().map(|line| line.key).filter(|key| *key != me.line.key).collect();
        self.notices.retain(|kept| keys.contains(&kept.key));
        done
    }
}
