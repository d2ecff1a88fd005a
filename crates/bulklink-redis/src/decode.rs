//! How a script's reply becomes an answer, and a push a notice. Any other form is an error: nothing
//! that a server sends makes these functions panic.

use std::collections::BTreeMap;
use std::str::from_utf8;
use std::time::Duration;

use bulklink_fleet::share::{
    Answer, Declaration, Grant, LimitRefusal, Notice, Refusal, Reply, Statement, Terms, Texts,
};
use bulklink_fleet::{ProcessId, ServerTime, StoreError, Version};
use redis::Value;

type Result<T> = std::result::Result<T, StoreError>;

/// Decodes the reply to a statement.
///
/// # Errors
///
/// [`StoreError::MALFORMED`] if it is no reply to a statement.
pub fn reply(statement: &Statement, reply: &Value) -> Result<Answer> {
    let fields = Fields::of(reply)?;
    match (fields.number(0)?, fields.0.len()) {
        (1, 14) => {}
        (9, 1) => return Ok(Err(Refusal::Stale)),
        (8, 7) => {
            let terms = Terms {
                lease: fields.duration(3)?,
                claim: fields.duration(4)?,
                calm: fields.duration(5)?,
                recovers: fields.flag(6)?,
            };
            let config = statement.declaration.config;
            let fleets = Declaration { config, limit: fields.units(2)?, terms };
            let declarer = text(fields.at(1)?)?.parse().map_err(|_| StoreError::MALFORMED)?;
            return Refusal::between(statement, declarer, &fleets).map(Err).ok_or(StoreError::MALFORMED);
        }
        _ => return Err(StoreError::MALFORMED),
    }
    let grant = Grant {
        process: statement.process,
        seq: statement.seq,
        serial: fields.number(1)?.into(),
        units: fields.units(2)?,
        valid: fields.duration(3)?,
        token: fields.number(4)?.into(),
        epoch: fields.number(5)?.into(),
        level: fields.optional(6)?.map(units).transpose()?.map(Into::into),
    };
    Ok(Ok(Reply {
        grant,
        due: fields.optional(7)?.map(Duration::from_micros),
        quarantine: fields.duration(8)?,
        longest: fields.duration(9)?,
        limit: fields.units(10)?,
        version: fields.number(11)?.into(),
        processes: fields.number(12)?,
        weights: fields.number(13)?,
    }))
}

/// Decodes the reply to a change of the limit.
///
/// # Errors
///
/// [`StoreError::MALFORMED`] if it is no such reply.
pub fn resized(reply: &Value) -> Result<std::result::Result<Version, LimitRefusal>> {
    let fields = Fields::of(reply)?;
    Ok(match (fields.number(0)?, fields.0.len()) {
        (1, 2) => Ok(fields.number(1)?.into()),
        (0, 1) => Err(LimitRefusal::Absent),
        (7, 3) => Err(LimitRefusal::Version { limit: fields.units(1)?, current: fields.number(2)?.into() }),
        _ => return Err(StoreError::MALFORMED),
    })
}

/// Decodes the state of a name and the server's time. `None` if the name has no state.
///
/// # Errors
///
/// [`StoreError::MALFORMED`] if it is no such reply, or the state is malformed.
pub fn state(reply: &Value) -> Result<(ServerTime, Option<Texts>)> {
    let fields = Fields::of(reply)?;
    let [settings, rows] = [1, 2].map(|at| Fields::of(fields.at(at)?)?.texts());
    let texts = Texts { settings: settings?, rows: rows? };
    Ok((fields.number(0)?.into(), (!texts.settings.is_empty()).then_some(texts)))
}

/// Decodes a message about a share of this process.
///
/// # Errors
///
/// [`StoreError::MALFORMED`] if it is no such notice.
pub fn notice(process: ProcessId, message: &[u8]) -> Result<Notice> {
    let text = from_utf8(message).ok();
    text.and_then(|text| Notice::of_text(process, text)).ok_or(StoreError::MALFORMED)
}

fn units(number: u64) -> Result<u32> {
    u32::try_from(number).map_err(|_| StoreError::MALFORMED)
}

/// The elements of an array.
struct Fields<'a>(&'a [Value]);

impl<'a> Fields<'a> {
    fn of(value: &'a Value) -> Result<Self> {
        if let Value::Array(values) = value { Ok(Fields(values)) } else { Err(StoreError::MALFORMED) }
    }

    fn at(&self, at: usize) -> Result<&'a Value> {
        self.0.get(at).ok_or(StoreError::MALFORMED)
    }

    fn number(&self, at: usize) -> Result<u64> {
        let Value::Int(number) = self.at(at)? else { return Err(StoreError::MALFORMED) };
        u64::try_from(*number).map_err(|_| StoreError::MALFORMED)
    }

    fn units(&self, at: usize) -> Result<u32> {
        units(self.number(at)?)
    }

    fn duration(&self, at: usize) -> Result<Duration> {
        self.number(at).map(Duration::from_micros)
    }

    /// -1 is none.
    fn optional(&self, at: usize) -> Result<Option<u64>> {
        if *self.at(at)? == Value::Int(-1) { Ok(None) } else { self.number(at).map(Some) }
    }

    /// Names and values by turns.
    fn texts(&self) -> Result<BTreeMap<String, String>> {
        let pairs = self.0.chunks(2).map(|pair| match pair {
            [name, value] => Ok((text(name)?.to_owned(), text(value)?.to_owned())),
            _ => Err(StoreError::MALFORMED),
        });
        pairs.collect()
    }

    fn flag(&self, at: usize) -> Result<bool> {
        match self.number(at)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(StoreError::MALFORMED),
        }
    }
}

fn text(value: &Value) -> Result<&str> {
    match value {
        Value::BulkString(bytes) => from_utf8(bytes).map_err(|_| StoreError::MALFORMED),
        Value::SimpleString(text) => Ok(text),
        _ => Err(StoreError::MALFORMED),
    }
}
