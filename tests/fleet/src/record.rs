//! What clients write down, in a file for each process.
//!
//! A record is a header and a fixed number of times, all in words of eight bytes. A process that is
//! killed loses the records that were not flushed, and may leave a part of a record, which is
//! ignored. Each lost record only makes the witness know less: see [`replay`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::witness::{Call, Hold, Nanos, Outcome};

/// The observation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// The answer to an acquire.
    Answered {
        /// When it began.
        start: Nanos,
        /// When the answer was there.
        end: Nanos,
        /// The kind of the observation.
        reply: Reply,
    },
    /// The permit of the client was valid at this instant. Its clock was read first.
    Valid {
        /// When.
        at: Nanos,
    },
    /// The client has released its permit.
    Released {
        /// When it began.
        start: Nanos,
        /// When it ended.
        end: Nanos,
        /// Whether the server has confirmed it.
        is_confirmed: bool,
    },
}

impl Record {
    /// Returns when the client had its permit, if this is the answer of one that was admitted.
    pub fn admitted(self) -> Option<Nanos> {
        match self {
            Record::Answered { end, reply: Reply::Admitted { .. }, .. } => Some(end),
            _ => None,
        }
    }
}

/// The answer to an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A permit, with the instant before which it was not granted, and its token.
    Admitted {
        /// When the command was sent that brought it.
        not_before: Nanos,
        /// Zero if the scheme has none.
        token: u64,
    },
    /// No unit is free.
    Saturated,
    /// Another rejection.
    Refused,
}

/// The client of a record, and its demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its number.
    pub number: u32,
    /// The units that it asks for.
    pub cost: u16,
    /// Whether it is ready to wait.
    pub waits: bool,
}

const ADMITTED: u8 = 1;
const SATURATED: u8 = 2;
const REFUSED: u8 = 3;
const VALID: u8 = 4;
const RELEASED: u8 = 5;
const UNCONFIRMED: u8 = 6;

/// The file of a process.
#[derive(Debug)]
pub struct Log {
    file: BufWriter<File>,
    /// Whether each record is written before the client goes on.
    is_durable: bool,
}

impl Log {
    /// Creates the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created.
    pub fn create(path: &Path, is_durable: bool) -> io::Result<Self> {
        Ok(Log { file: BufWriter::with_capacity(64 * 1024, File::create(path)?), is_durable })
    }

    /// Writes a record.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be written: a verdict without its records would mean nothing.
    pub fn write(&mut self, client: Client, record: Record) {
        let (kind, times) = match record {
            Record::Answered { start, end, reply: Reply::Admitted { not_before, token } } => {
                (ADMITTED, &[start, end, not_before, token][..])
            }
            Record::Answered { start, end, reply: Reply::Saturated } => (SATURATED, &[start, end][..]),
            Record::Answered { start, end, reply: Reply::Refused } => (REFUSED, &[start, end][..]),
            Record::Valid { at } => (VALID, &[at][..]),
            Record::Released { start, end, is_confirmed } => {
                (if is_confirmed { RELEASED } else { UNCONFIRMED }, &[start, end][..])
            }
        };
        let [high, low] = client.cost.to_le_bytes();
        let [a, b, c, d] = client.number.to_le_bytes();
        let header = u64::from_le_bytes([kind, u8::from(client.waits), high, low, a, b, c, d]);
        let words = [header].into_iter().chain(times.iter().copied());
        // In one piece, so that a killed process leaves whole records.
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let written = self.file.write_all(&bytes);
        written
            .and_then(|()| if self.is_durable { self.file.flush() } else { Ok(()) })
            .expect("the log can be written");
    }

    /// Writes the buffer.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads the records of a file, up to the first that is not whole.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<(Client, Record)>> {
    Ok(parse(&std::fs::read(path)?))
}

fn parse(bytes: &[u8]) -> Vec<(Client, Record)> {
    let (words, _) = bytes.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    std::iter::from_fn(|| record(&mut words)).collect()
}

fn record(words: &mut impl Iterator<Item = u64>) -> Option<(Client, Record)> {
    let [kind, waits, high, low, a, b, c, d] = words.next()?.to_le_bytes();
    let number = u32::from_le_bytes([a, b, c, d]);
    let client = Client { number, cost: u16::from_le_bytes([high, low]), waits: waits != 0 };
    let first = words.next()?;
    if kind == VALID {
        return Some((client, Record::Valid { at: first }));
    }
    let (start, end) = (first, words.next()?);
    let answered = |reply| Record::Answered { start, end, reply };
    let record = match kind {
        ADMITTED => answered(Reply::Admitted { not_before: words.next()?, token: words.next()? }),
        SATURATED => answered(Reply::Saturated),
        REFUSED => answered(Reply::Refused),
        RELEASED => Record::Released { start, end, is_confirmed: true },
        UNCONFIRMED => Record::Released { start, end, is_confirmed: false },
        _ => return None,
    };
    Some((client, record))
}

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its clients have finished, and all records are there.
    Finished,
    /// It was killed. From the instant on, the server certainly has nothing of it.
    Killed(Option<Nanos>),
}

/// Returns the calls of a process, of which these are all clients, each with the instant from which
/// it can have called.
///
/// Of a process that was killed, a client may have taken steps without a record: after its last
/// record it may have had a permit until `End::Killed` shows that nothing is left.
pub fn replay(process: u32, clients: &[(Client, Nanos)], records: &[(Client, Record)], end: End) -> Vec<Call> {
    let (mut calls, mut last) = (Vec::<Call>::new(), BTreeMap::new());
    let mut seen: BTreeMap<u32, Nanos> = clients.iter().map(|(client, from)| (client.number, *from)).collect();
    let settled = match end {
        End::Finished => None,
        End::Killed(gone) => gone,
    };
    for (client, record) in records {
        let at = match *record {
            Record::Answered { start, end, reply } => {
                let outcome = match reply {
                    Reply::Admitted { not_before, token } => {
                        let token = (token != 0).then_some(token);
                        Outcome::Admitted(Hold { not_before, token, valid_until: end, release: None })
                    }
                    Reply::Saturated => Outcome::Saturated,
                    Reply::Refused => Outcome::Refused,
                };
                last.insert(client.number, calls.len());
                let gone = if outcome == Outcome::Saturated { Some(end) } else { settled };
                let (number, cost, waits) = (client.number, u32::from(client.cost), client.waits);
                calls.push(Call { process, client: number, cost, waits, start, end: Some(end), gone, outcome });
                end
            }
            Record::Valid { at } => {
                change(&mut calls, &last, *client, |_, hold| hold.valid_until = at);
                at
            }
            Record::Released { start, end, is_confirmed } => {
                let end = is_confirmed.then_some(end);
                change(&mut calls, &last, *client, |gone, hold| {
                    hold.release = Some((start, end));
                    *gone = end.or(*gone);
                });
                end.unwrap_or(start)
            }
        };
        seen.insert(client.number, at);
    }
    if let End::Killed(gone) = end {
        calls.extend(clients.iter().map(|(client, _)| {
            let (number, cost, waits) = (client.number, u32::from(client.cost), client.waits);
            let start = seen[&number];
            Call { process, client: number, cost, waits, start, end: None, gone, outcome: Outcome::Unknown }
        }));
    }
    calls
}

/// Changes the last call of a client, if that was admitted.
fn change(
    calls: &mut [Call],
    last: &BTreeMap<u32, usize>,
    client: Client,
    change: impl FnOnce(&mut Option<Nanos>, &mut Hold),
) {
    if let Some(Call { gone, outcome: Outcome::Admitted(hold), .. }) =
        last.get(&client.number).and_then(|place| calls.get_mut(*place))
    {
        change(gone, hold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Client = Client { number: 70_000, cost: 3, waits: true };
    const OTHER: Client = Client { number: 2, cost: 1, waits: false };

    fn records() -> Vec<(Client, Record)> {
        let admitted = Reply::Admitted { not_before: 12, token: 7 };
        vec![
            (CLIENT, Record::Answered { start: 10, end: 20, reply: admitted }),
            (OTHER, Record::Answered { start: 11, end: 13, reply: Reply::Saturated }),
            (CLIENT, Record::Valid { at: 25 }),
            (OTHER, Record::Answered { start: 14, end: 15, reply: Reply::Refused }),
            (CLIENT, Record::Released { start: 26, end: 30, is_confirmed: true }),
            (CLIENT, Record::Answered { start: 40, end: 50, reply: Reply::Admitted { not_before: 40, token: 0 } }),
            (CLIENT, Record::Released { start: 60, end: 70, is_confirmed: false }),
        ]
    }

    #[test]
    fn what_was_written_is_read_and_a_part_of_a_record_is_not() {
        let path = std::env::temp_dir().join(format!("bulklink-record-{}", std::process::id()));
        let mut log = Log::create(&path, true).unwrap();
        for (client, record) in records() {
            log.write(client, record);
        }
        // Durable: all is there before the log is dropped.
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(read(&path).unwrap(), records());
        std::fs::remove_file(&path).unwrap();
        for cut in 1..24 {
            assert_eq!(parse(&bytes[..bytes.len() - cut]), records()[..6], "{cut}");
        }
    }

    #[test]
    fn records_become_calls() {
        let calls = replay(5, &[(CLIENT, 0), (OTHER, 0)], &records(), End::Finished);
        let call = |client: Client, start, end, gone, outcome| {
            let (number, cost, waits) = (client.number, u32::from(client.cost), client.waits);
            Call { process: 5, client: number, cost, waits, start, end: Some(end), gone, outcome }
        };
        let first = Hold { not_before: 12, token: Some(7), valid_until: 25, release: Some((26, Some(30))) };
        let second = Hold { not_before: 40, token: None, valid_until: 50, release: Some((60, None)) };
        let expected = [
            call(CLIENT, 10, 20, Some(30), Outcome::Admitted(first)),
            call(OTHER, 11, 13, Some(13), Outcome::Saturated),
            call(OTHER, 14, 15, None, Outcome::Refused),
            call(CLIENT, 40, 50, None, Outcome::Admitted(second)),
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn a_killed_process_may_have_done_more_than_its_records_tell() {
        let idle = Client { number: 9, ..OTHER };
        let clients = [(CLIENT, 1), (OTHER, 2), (idle, 3)];
        let calls = replay(5, &clients, &records()[..4], End::Killed(Some(99)));
        let unknown: Vec<_> = calls.iter().filter(|call| call.outcome == Outcome::Unknown).collect();
        let found: Vec<_> = unknown.iter().map(|call| (call.client, call.start, call.end, call.gone)).collect();
        assert_eq!(found, [(70_000, 25, None, Some(99)), (2, 15, None, Some(99)), (9, 3, None, Some(99))]);
        // A permit without a release is gone then too, and a rejected one never was there.
        assert_eq!(calls.iter().map(|call| call.gone).collect::<Vec<_>>()[..3], [Some(99), Some(13), Some(99)]);
        // A release that was not confirmed changes nothing.
        let calls = replay(5, &clients, &records(), End::Killed(Some(99)));
        assert_eq!((calls[0].gone, calls[3].gone), (Some(30), Some(99)));
    }
}
