//! What commands do to a row: all decisions are those of an
//! [`Allocator`](bulklink_fleet::share::Allocator), and this has no input and output.

use std::collections::BTreeSet;

use bulklink_fleet::share::{self, LimitRefusal, Notice, Statement, Status};
use bulklink_fleet::{Name, ProcessId, ServerTime, Version};

use super::row::{Line, Row};

/// The link on which commands come.
#[derive(Clone, Debug)]
pub(crate) struct Me {
    pub(crate) process: ProcessId,
    pub(crate) line: Line,
}

/// One command.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Sync(Statement),
    Resize(u32, Version),
    Look,
}

/// The answer to the command of the same name.
#[derive(Debug)]
pub(crate) enum Answer {
    Sync(share::Answer),
    Resize(Result<Version, LimitRefusal>),
    Look(Option<Status>),
}

/// What came of commands, once they are committed.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) answers: Vec<Answer>,
    /// Notices for the process itself.
    pub(crate) told: Vec<Notice>,
    /// The links for which there are notices: their keys, for each message.
    pub(crate) keys: Vec<i64>,
    /// Their channels.
    pub(crate) channels: Vec<String>,
    /// The messages.
    pub(crate) messages: Vec<String>,
}

impl Row {
    /// Applies commands of one process, one after the other.
    ///
    /// `listens` says whether the process is told of this name. Links in `dead` have ended.
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
        if listens {
            self.lines.insert(me.process, me.line.clone());
        }
        let Row { allocator, lines } = self;
        for command in commands {
            let mut publish = |notice| done.publish(lines, me, name, notice);
            let answer = match command {
                Command::Sync(statement) => Answer::Sync(allocator.sync(now, statement, &mut publish)),
                Command::Resize(limit, expected) => {
                    Answer::Resize(allocator.set_limit(now, *limit, *expected, &mut publish))
                }
                Command::Look => Answer::Look(allocator.status(now)),
            };
            done.answers.push(answer);
        }
        done
    }
}

impl Done {
    /// Notes a notice. Returns whether a process listens to it.
    fn publish(
        &mut self,
        lines: &std::collections::BTreeMap<ProcessId, Line>,
        me: &Me,
        name: &Name,
        notice: Notice,
    ) -> bool {
        let is_for = |process: &ProcessId| match notice {
            Notice::Granted(grant) => grant.process == *process,
            _ => true,
        };
        let mut is_heard = false;
        for (_, Line { key, channel }) in lines.iter().filter(|(process, _)| is_for(process)) {
            is_heard = true;
            if *key == me.line.key {
                self.told.push(notice);
            } else {
                self.keys.push(*key);
                self.channels.push(channel.clone());
                self.messages.push(format!("{name} {}", notice.text()));
            }
        }
        is_heard
    }
}
