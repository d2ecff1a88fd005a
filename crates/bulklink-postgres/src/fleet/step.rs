//! What commands do to a row: all decisions are those of an
//! [`Allocator`](bulklink_fleet::share::Allocator), and this has no input and output.

use std::collections::BTreeSet;
use std::sync::Arc;

use bulklink_fleet::share::{self, LimitRefusal, Notice, Statement, Status};
use bulklink_fleet::{Name, ProcessId, ServerTime, StoreError, Version};

use super::row::{Line, Row};
use super::shared::Shared;
use crate::error::refused;
use crate::schema::Part;
use crate::worker::{Done, Notices, Rows};

/// The rows of limits, and the link on which commands come.
pub(crate) struct Limits {
    pub(crate) me: Me,
    pub(crate) shared: Arc<Shared>,
}

/// A link, as others know it.
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

impl Rows for Limits {
    const PART: Part = Part::Fleet;

    type Command = Command;
    type Answer = Answer;
    type Told = Vec<Notice>;

    fn reads(command: &Command) -> bool {
        matches!(command, Command::Look)
    }

    fn apply<'a>(
        &self,
        name: &Name,
        text: Option<&str>,
        now: ServerTime,
        dead: &BTreeSet<i64>,
        commands: impl Iterator<Item = &'a Command> + Clone,
    ) -> Result<Done<Self>, StoreError> {
        let listens = self.shared.listens(name) && !commands.clone().all(Self::reads);
        let row = text.map_or_else(|| Ok(Row::default()), Row::decode);
        let mut row = row.map_err(|_| refused("MALFORMED"))?;
        let Applied { answers, told, notices } = row.apply(now, &self.me, listens, dead, name, commands);
        Ok(Done { text: row.encode(), answers: answers.into_iter().map(Ok).collect(), told, notices })
    }

    /// A link stays: the fleet shows the refusal, and uses its units meanwhile.
    fn ends(_: &StoreError) -> bool {
        false
    }

    fn committed(&self, name: &Name, told: Vec<Notice>) -> bool {
        if self.shared.is_over() {
            return false;
        }
        for notice in told {
            self.shared.tell(name, notice);
        }
        true
    }
}

/// What came of commands.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) answers: Vec<Answer>,
    /// Notices for the process itself.
    pub(crate) told: Vec<Notice>,
    /// Those for others.
    pub(crate) notices: Notices,
}

impl Row {
    /// Applies commands of one process, one after the other.
    ///
    /// `listens`: the process gets notices of this name. Links in `dead` have ended.
    pub(crate) fn apply<'a>(
        &mut self,
        now: ServerTime,
        me: &Me,
        listens: bool,
        dead: &BTreeSet<i64>,
        name: &Name,
        commands: impl Iterator<Item = &'a Command>,
    ) -> Applied {
        let mut done = Applied::default();
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

impl Applied {
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
                self.notices.keys.push(*key);
                self.notices.channels.push(channel.clone());
                self.notices.messages.push(format!("{name} {}", notice.text()));
            }
        }
        is_heard
    }
}
