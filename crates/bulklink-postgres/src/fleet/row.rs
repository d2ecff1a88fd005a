//! The row of one bulkhead: what a [`Table`] has, which processes listen, and notices for them.
//!
//! It is a text of lines, so that people can read it too. Each line begins with what it is:
//!
//! | line | content |
//! | --- | --- |
//! | `1` | the version of this form |
//! | `m` | settings: epoch, limit, version, declared, config, ttl, claim, block, quarantine, extra, token, ticket, run |
//! | `n` | the number of the last notice |
//! | `l` | a lease, and when it expires |
//! | `q` | a waiter, and its ticket |
//! | `o` | a process, when its session ends, its generation, and what it says about itself |
//! | `c` | a process that listens, the key of its lock, and its channel |
//! | `i` | a notice: its number, the key of the link that it is for, and its text |

use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;
use std::time::Duration;

use bulklink_fleet::{
    CallId, Command, Notice, Outcome, OwnerId, RunId, ServerTime, SessionStatus, Settings, Status, Table, Terms,
};

/// The first line of a row in this form.
const VERSION: &str = "1";

/// Numbers are exact below this, so that sums of them cannot overflow.
const MAX: u64 = 1 << 53;

/// The data of one bulkhead.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) table: Table,
    /// The processes that listen.
    pub(crate) lines: BTreeMap<OwnerId, Line>,
    /// Notices that their links may not have received yet.
    pub(crate) notices: Vec<Kept>,
    /// The number of the last notice.
    pub(crate) last: u64,
}

/// A link that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The key of a lock that its session holds, and no other link ever has.
    pub(crate) key: i64,
    /// Where it listens. Only the row has this random name.
    pub(crate) channel: String,
}

/// A notice, as long as its link may not have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) number: u64,
    /// That of the link.
    pub(crate) key: i64,
    pub(crate) notice: Notice,
}

/// The text is no row.
#[derive(Debug, PartialEq)]
pub(crate) struct Malformed;

impl Row {
    /// Returns the text of the row, or `None` if there is no bulkhead.
    pub(crate) fn encode(&mut self) -> Option<String> {
        let state = state(&mut self.table);
        let settings = state.settings?;
        let mut text = format!("{VERSION}\n");
        let mut line = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("a string takes all");
        line(format_args!("m {}", Words(&settings)));
        line(format_args!("n {}", self.last));
        for (id, until) in &state.lease_page {
            line(format_args!("l {id} {until}"));
        }
        for (id, ticket) in &state.waiter_page {
            line(format_args!("q {id} {ticket}"));
        }
        for SessionStatus { owner, until, generation, info } in &state.session_page {
            let info = info.replace(|letter: char| letter.is_ascii_control(), " ");
            line(format_args!("o {owner} {until} {generation} {info}"));
        }
        for (owner, Line { key, channel }) in &self.lines {
            line(format_args!("c {owner} {key} {channel}"));
        }
        for Kept { number, key, notice } in &self.notices {
            line(format_args!("i {number} {key} {}", notice_text(notice)));
        }
        Some(text)
    }

    /// Reads the text of a row. It never panics, and neither does any step on what it returns.
    pub(crate) fn decode(text: &str) -> Result<Self, Malformed> {
        let mut lines = text.lines();
        if lines.next() != Some(VERSION) {
            return Err(Malformed);
        }
        let mut row = Row::default();
        let mut state = Status {
            now: 0.into(),
            settings: None,
            leases: 0,
            waiting: 0,
            expired: 0,
            lease_page: vec![],
            waiter_page: vec![],
            session_page: vec![],
        };
        for line in lines {
            let (kind, rest) = line.split_once(' ').ok_or(Malformed)?;
            let words: Vec<_> = rest.split(' ').collect();
            match (kind, &words[..]) {
                ("m", words) if state.settings.is_none() => state.settings = Some(settings(words)?),
                ("n", [last]) => row.last = number(last)?,
                ("l", [id, until]) => state.lease_page.push((parse_call_id(id)?, number(until)?.into())),
                ("q", [id, ticket]) => state.waiter_page.push((parse_call_id(id)?, number(ticket)?.into())),
                ("o", [owner, until, generation, ..]) => {
                    let info = rest.splitn(4, ' ').nth(3).ok_or(Malformed)?.into();
                    let (until, generation) = (number(until)?.into(), parsed(generation)?);
                    state.session_page.push(SessionStatus { owner: parsed(owner)?, until, generation, info });
                }
                ("c", [owner, key, channel]) => {
                    let line = Line { key: parsed(key)?, channel: (*channel).to_owned() };
                    row.lines.insert(parsed(owner)?, line);
                }
                ("i", [count, key, notice @ ..]) => {
                    let notice = read_notice(notice)?;
                    row.notices.push(Kept { number: number(count)?, key: parsed(key)?, notice });
                }
                _ => return Err(Malformed),
            }
        }
        state.settings.ok_or(Malformed)?;
        row.table = Table::restore(&state).ok_or(Malformed)?;
        Ok(row)
    }

    /// The processes that have a session.
    pub(crate) fn owners(&mut self) -> Vec<OwnerId> {
        state(&mut self.table).session_page.iter().map(|session| session.owner).collect()
    }
}

/// All that a table has.
fn state(table: &mut Table) -> Status {
    let all = Command::Status { offset: 0, count: u64::MAX };
    match table.apply(ServerTime::default(), &all, &mut |_, _| false).outcome {
        Outcome::Status(state) => *state,
        other => unreachable!("{other:?} to a status"),
    }
}

/// The words of settings.
struct Words<'a>(&'a Settings);

impl std::fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Settings { epoch, limit, version, declared, config, terms, quarantine, extra, token, ticket, run } = self.0;
        let Terms { ttl, claim, block } = terms;
        write!(f, "{epoch} {limit} {version} {declared} {config} {} {} {block} ", ttl.as_micros(), claim.as_micros())?;
        write!(f, "{quarantine} {extra} {token} {ticket} ")?;
        match run {
            Some(run) => run.fmt(f),
            None => f.write_str("-"),
        }
    }
}

fn settings(words: &[&str]) -> Result<Settings, Malformed> {
    let [epoch, limit, version, declared, config, ttl, claim, block, quarantine, extra, token, ticket, run] = words
    else {
        return Err(Malformed);
    };
    let micros = |text| Ok(Duration::from_micros(number(text)?));
    let terms = Terms { ttl: micros(ttl)?, claim: micros(claim)?, block: number(block)? };
    // A block without a token would hand out tokens twice.
    if terms.block == 0 {
        return Err(Malformed);
    }
    Ok(Settings {
        epoch: number(epoch)?.into(),
        limit: number(limit)?,
        version: number(version)?.into(),
        declared: number(declared)?,
        config: number(config)?,
        terms,
        quarantine: number(quarantine)?.into(),
        extra: number(extra)?,
        token: number(token)?.into(),
        ticket: number(ticket)?.into(),
        run: if *run == "-" { None } else { Some(RunId::from(parsed::<u64>(run)?)) },
    })
}

/// The text of a notice.
pub(crate) fn notice_text(notice: &Notice) -> String {
    match notice {
        Notice::Granted { id, token, epoch } => format!("g {id} {token} {epoch}"),
        Notice::TooLarge { id } => format!("x {id}"),
        // No table makes another one.
        _ => String::new(),
    }
}

/// Reads the words of a notice.
pub(crate) fn read_notice(words: &[&str]) -> Result<Notice, Malformed> {
    Ok(match words {
        ["g", id, token, epoch] => {
            Notice::Granted { id: parse_call_id(id)?, token: number(token)?.into(), epoch: number(epoch)?.into() }
        }
        ["x", id] => Notice::TooLarge { id: parse_call_id(id)? },
        _ => return Err(Malformed),
    })
}

fn parse_call_id(text: &str) -> Result<CallId, Malformed> {
    let id: CallId = parsed(text)?;
    if id.cost < MAX { Ok(id) } else { Err(Malformed) }
}

pub(crate) fn number(text: &str) -> Result<u64, Malformed> {
    parsed(text).ok().filter(|number| *number < MAX).ok_or(Malformed)
}

fn parsed<T: FromStr>(text: &str) -> Result<T, Malformed> {
    text.parse().map_err(|_| Malformed)
}
