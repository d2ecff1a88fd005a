//! How a script's reply becomes an answer, and a push a notice. Any other form is an error: nothing
//! that a server sends makes these functions panic.

use std::str::{FromStr, from_utf8};
use std::time::Duration;

use bulklink_fleet::{
    Answer, CallId, Command, Epoch, Head, Notice, Outcome, RunId, ServerTime, SessionStatus, Settings, Status,
    StoreError, Terms, Ticket, Token, Version,
};
use redis::Value;

/// The form of a reply is unknown.
struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// Decodes the reply to a command.
///
/// # Errors
///
/// [`StoreError::Malformed`] if it is no reply to this command.
pub fn answer(command: &Command, reply: &Value) -> std::result::Result<Answer, StoreError> {
    decode(command, reply).map_err(|Malformed| StoreError::Malformed)
}

/// Decodes what was pushed on a process' channel.
///
/// # Errors
///
/// [`StoreError::Malformed`] if it is no notice.
pub fn notice(message: &[u8]) -> std::result::Result<Notice, StoreError> {
    read_notice(message).map_err(|Malformed| StoreError::Malformed)
}

fn read_notice(message: &[u8]) -> Result<Notice> {
    let words: Vec<_> = from_utf8(message).map_err(|_| Malformed)?.split(' ').collect();
    Ok(match words[..] {
        ["g", id, token, epoch] => Notice::Granted {
            id: parsed(id)?,
            token: parsed::<u64>(token)?.into(),
            epoch: parsed::<u64>(epoch)?.into(),
        },
        ["x", id] => Notice::TooLarge { id: parsed(id)? },
        _ => return Err(Malformed),
    })
}

fn decode(command: &Command, reply: &Value) -> Result<Answer> {
    if let Value::Int(number) = reply {
        let outcome = alone(command, *number)?;
        return Ok(Answer { outcome, head: None });
    }
    let fields = Fields::of(reply)?;
    if let Command::Status { .. } = command {
        let outcome = Outcome::Status(Box::new(status(&fields)?));
        return Ok(Answer { outcome, head: None });
    }
    let outcome = outcome(command, &fields)?;
    Ok(Answer { outcome, head: Some(head(&fields)?) })
}

/// A reply that is only a number.
fn alone(command: &Command, number: i64) -> Result<Outcome> {
    match (command, u64::try_from(number)) {
        (Command::Acquire { .. }, Ok(token)) => Ok(Outcome::Granted { token: token.into() }),
        (Command::Release { .. }, Ok(1)) => Ok(Outcome::Done),
        _ => Err(Malformed),
    }
}

fn head(fields: &Fields<'_>) -> Result<Head> {
    let epoch = match fields.text(2)? {
        "" => None,
        text => Some(parsed::<u64>(text)?.into()),
    };
    Ok(Head {
        now: fields.time(1)?,
        epoch,
        limit: fields.number(3)?,
        version: fields.number(4)?.into(),
        used: fields.number(5)?,
        waiting: fields.number(6)?,
        more: fields.flag(9)?,
    })
}

fn outcome(command: &Command, fields: &Fields<'_>) -> Result<Outcome> {
    let code = fields.number(0)?;
    // All replies but these three end with the head.
    let length = match (command, code) {
        (Command::Beat { .. }, 1) => 13,
        (Command::Acquire { .. }, 2) | (Command::Reap { .. }, 1) => 11,
        _ => 10,
    };
    if fields.0.len() != length {
        return Err(Malformed);
    }
    let (a, b) = (fields.number(7)?, fields.number(8)?);
    Ok(match (command, code) {
        (_, 0) => Outcome::Stale,
        (Command::Release { .. } | Command::SetLimit { .. } | Command::Close { .. }, 1) => Outcome::Done,
        (Command::Open { .. }, 1) => Outcome::Opened { quarantine: a.into(), owners: b },
        (Command::Open { .. }, 7) => Outcome::LimitConflict { limit: a, config: b },
        (Command::Open { .. }, 8) if a == 0 => Outcome::RecoveryConflict,
        (Command::Open { .. }, 8) => {
            Outcome::TermsConflict { ttl: Duration::from_micros(a), claim: Duration::from_micros(b) }
        }
        (Command::Acquire { .. }, 1) => Outcome::Granted { token: a.into() },
        (Command::Acquire { .. }, 2) => {
            Outcome::Queued { ticket: a.into(), first_expiry: b.into(), position: fields.number(10)? }
        }
        (Command::Acquire { .. }, 3) => Outcome::Saturated { first_expiry: a.into() },
        (Command::Acquire { .. }, 4) => Outcome::QueueFull { first_expiry: a.into() },
        (Command::Acquire { .. }, 5) => Outcome::Recovering { until: a.into() },
        (Command::Acquire { .. }, 6) => Outcome::TooLarge,
        (Command::SetLimit { .. }, 7) => Outcome::VersionConflict,
        (Command::Beat { .. }, 1) => beaten(a, b, fields)?,
        (Command::Beat { .. }, 9) => Outcome::OldGeneration,
        (Command::Reap { .. }, 1) => Outcome::Reaped { freed: a, dropped: b, next: fields.number(10)? },
        _ => return Err(Malformed),
    })
}

fn beaten(a: u64, b: u64, fields: &Fields<'_>) -> Result<Outcome> {
    let lost = fields.list(10)?;
    Ok(Outcome::Beaten {
        first_expiry: a.into(),
        owners: b,
        lost: (0..lost.0.len()).map(|at| parsed(lost.text(at)?)).collect::<Result<_>>()?,
        granted: fields.list(11)?.pairs::<CallId, Token>()?,
        quarantine: fields.time(12)?,
    })
}

fn status(fields: &Fields<'_>) -> Result<Status> {
    if fields.0.len() != 9 {
        return Err(Malformed);
    }
    let (sessions, infos) = (fields.list(7)?.pairs(), fields.list(8)?);
    let sessions = sessions?;
    if sessions.len() != infos.0.len() {
        return Err(Malformed);
    }
    let session_page = sessions.into_iter().zip(infos.0).map(|((owner, until), info)| {
        // A session that was made by its first waiter has said nothing yet.
        let (generation, info) = match info {
            Value::Nil => (0, ""),
            info => {
                let (generation, info) = text(info)?.split_once(' ').ok_or(Malformed)?;
                (parsed(generation)?, info)
            }
        };
        Ok(SessionStatus { owner, until, generation, info: info.into() })
    });
    Ok(Status {
        now: fields.time(0)?,
        settings: settings(&fields.list(1)?)?,
        leases: fields.number(2)?,
        waiting: fields.number(3)?,
        expired: fields.number(4)?,
        lease_page: fields.list(5)?.pairs()?,
        waiter_page: fields.list(6)?.pairs::<CallId, Ticket>()?,
        session_page: session_page.collect::<Result<_>>()?,
    })
}

fn settings(fields: &Fields<'_>) -> Result<Option<Settings>> {
    if fields.0.len() != 13 {
        return Err(Malformed);
    }
    if matches!(fields.0[0], Value::Nil) {
        return Ok(None);
    }
    let number = |at| parsed::<u64>(fields.text(at)?);
    let micros = |at| Ok(Duration::from_micros(number(at)?));
    let run = match fields.text(12)? {
        "-" => None,
        text => Some(RunId::from(u64::from_str_radix(text, 16).map_err(|_| Malformed)?)),
    };
    Ok(Some(Settings {
        epoch: Epoch::from(number(0)?),
        limit: number(1)?,
        declared: number(2)?,
        config: number(3)?,
        version: Version::from(number(4)?),
        quarantine: number(5)?.into(),
        extra: number(6)?,
        terms: Terms { ttl: micros(7)?, claim: micros(8)?, block: number(9)? },
        token: number(10)?.into(),
        ticket: number(11)?.into(),
        run,
    }))
}

/// The elements of an array.
struct Fields<'a>(&'a [Value]);

impl<'a> Fields<'a> {
    fn of(value: &'a Value) -> Result<Self> {
        if let Value::Array(values) = value { Ok(Fields(values)) } else { Err(Malformed) }
    }

    fn at(&self, at: usize) -> Result<&'a Value> {
        self.0.get(at).ok_or(Malformed)
    }

    fn list(&self, at: usize) -> Result<Fields<'a>> {
        Fields::of(self.at(at)?)
    }

    fn text(&self, at: usize) -> Result<&'a str> {
        text(self.at(at)?)
    }

    fn number(&self, at: usize) -> Result<u64> {
        let Value::Int(number) = self.at(at)? else { return Err(Malformed) };
        u64::try_from(*number).map_err(|_| Malformed)
    }

    fn time(&self, at: usize) -> Result<ServerTime> {
        self.number(at).map(ServerTime::from)
    }

    fn flag(&self, at: usize) -> Result<bool> {
        match self.number(at)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// Ids and numbers by turns.
    fn pairs<T: FromStr, N: From<u64>>(&self) -> Result<Vec<(T, N)>> {
        let pairs = self.0.chunks(2).map(|pair| match pair {
            [id, number] => Ok((parsed(text(id)?)?, parsed::<u64>(text(number)?)?.into())),
            _ => Err(Malformed),
        });
        pairs.collect()
    }
}

fn text(value: &Value) -> Result<&str> {
    match value {
        Value::BulkString(bytes) => from_utf8(bytes).map_err(|_| Malformed),
        Value::SimpleString(text) => Ok(text),
        _ => Err(Malformed),
    }
}

fn parsed<T: FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| Malformed)
}
