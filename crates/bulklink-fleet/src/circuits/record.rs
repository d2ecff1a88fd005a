//! A circuit as a store keeps it: the whole of its row, and a text of it that people can read.
//!
//! Each line of the text is a letter, a space and a value:
//!
//! | letter | value |
//! | --- | --- |
//! | `s` | the state: `c` closed, `o` open, `h` half-open |
//! | `g` | the generation |
//! | `u` | the end of the cool-down, `-` if it was opened by hand, or nothing |
//! | `r` | how often in a row the probes have failed |
//! | `n` | the settings of the last operation that had some |
//! | `w` | the window: a letter for each call, or the numbers of the parts, the newest first |
//! | `p` | the number of the newest part |
//! | `x`, `y` | the probes that have succeeded, and that have failed |
//! | `b` | the probes that run: the end of the lease, a colon, and the probe |
//! | `d` | when processes last used different settings, or nothing |
//!
//! Times are in microseconds. A hash on Redis has the same fields.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use bulklink::runtime::Instant;
use bulklink_breaker::plumbing::Snapshot;
use bulklink_breaker::{Circuit, Counts, Mark, Pass, ProbeId, Settings, State};

use super::encoding::{DIFFER, marks_text, probe_text};
use super::{Effect, Force, Operation, Reply, Report, Row, numbers};
use crate::StoreError;

/// The letters of the values, in the order of the text.
const LETTERS: [&str; 11] = ["s", "g", "u", "r", "n", "w", "p", "x", "y", "b", "d"];

/// A circuit as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    circuit: Circuit,
    /// The settings of the last operation that had some, or nothing.
    settings: String,
    /// When an operation last had other settings than the one before it.
    differed: Option<Instant>,
}

impl Record {
    /// Makes a closed circuit where there is none.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self::in_generation(micros(now))
    }

    /// Makes a closed circuit in the place of a text that is malformed. Its generation is a later
    /// one, as far as that can be read.
    #[must_use]
    pub fn in_place_of(text: &str, now: Instant) -> Self {
        let known = lines(text).get("g").and_then(|generation| number(generation));
        Self::in_generation(micros(now).max(known.map_or(0, |known| known + 1)))
    }

    fn in_generation(generation: u64) -> Self {
        let circuit = Circuit::in_generation(Settings::default(), generation).expect("the default is possible");
        Record { circuit, settings: String::new(), differed: None }
    }

    /// Returns the number of transitions.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.circuit.generation()
    }

    /// Does an operation.
    ///
    /// # Errors
    ///
    /// A [refusal](StoreError::is_refusal) if a setting is impossible. Then nothing has changed.
    pub fn apply(
        &mut self,
        now: Instant,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        let settings_differ = self.fit(now, settings)?;
        self.circuit.follow(now);
        let effect = self.step(now, operation);
        let row = Row { settings_differ, ..Row::of(&self.circuit.view(now), now) };
        Ok(Reply { effect, row })
    }

    /// Changes to the settings of an operation. Returns whether those of the last one differ.
    fn fit(&mut self, now: Instant, settings: Option<&Settings>) -> Result<bool, StoreError> {
        let Some(settings) = settings else { return Ok(false) };
        let text = numbers::text(settings)?;
        if text == self.settings {
            return Ok(false);
        }
        // As they are read again later.
        let settings = numbers::settings(&text).ok_or(StoreError::MALFORMED)?;
        self.circuit.set_settings(settings).map_err(|_| StoreError::MALFORMED)?;
        let differ = !self.settings.is_empty();
        self.settings = text;
        if differ {
            self.differed = Some(now);
        }
        Ok(differ)
    }

    fn step(&mut self, now: Instant, operation: &Operation) -> Effect {
        let circuit = &mut self.circuit;
        let is_done = match operation {
            Operation::Load => true,
            Operation::Admit(id) => match circuit.admit(now, *id) {
                Ok(Pass { probe: Some(_), .. }) => return Effect::Probe,
                Ok(_) => true,
                Err(refusal) => return Effect::Refused(refusal.retry_at.map(|at| at.saturating_since(now))),
            },
            Operation::Report(Report::Closed { generation, outcomes }) => circuit.report(now, *generation, outcomes),
            Operation::Report(Report::Probe { generation, id, outcome }) => {
                circuit.settle(now, Pass::new(*generation, Some(*id)), *outcome)
            }
            Operation::Force(force, expected) => {
                let is_expected = expected.is_none_or(|expected| expected == circuit.generation());
                match force {
                    _ if !is_expected => {}
                    Force::Open => circuit.force_open(),
                    Force::Closed => circuit.force_closed(),
                }
                is_expected
            }
        };
        if is_done { Effect::Done } else { Effect::Refused(None) }
    }

    /// Returns the row in a list.
    #[must_use]
    pub fn row(&self, now: Instant) -> Row {
        // A clock may have been set back.
        let apart = |at: Instant| now.saturating_since(at).max(at.saturating_since(now));
        let settings_differ = self.differed.is_some_and(|at| apart(at) < DIFFER);
        Row { settings_differ, ..Row::of(&self.circuit.view(now), now) }
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> String {
        let snapshot = self.circuit.snapshot();
        let Snapshot { state, generation, until, reopened, newest, successes, failures, .. } = snapshot;
        let part = |part: &Counts| [part.calls, part.failures, part.slow];
        let window = match &snapshot.parts[..] {
            [] => marks_text(snapshot.marks.into_iter()),
            parts => words(parts.iter().flat_map(part)),
        };
        let probe = |(until, id): (Instant, ProbeId)| format!("{:016}:{}", micros(until), probe_text(id));
        let time = |at: Instant| micros(at).to_string();
        let forced = if state == State::Open { "-" } else { "" };
        let values = [
            state.as_str()[..1].to_owned(),
            generation.to_string(),
            until.map_or_else(|| forced.to_owned(), time),
            reopened.to_string(),
            self.settings.clone(),
            window,
            newest.to_string(),
            successes.to_string(),
            failures.to_string(),
            words(snapshot.probes.into_iter().map(probe)),
            self.differed.map(time).unwrap_or_default(),
        ];
        let mut text = String::new();
        for (letter, value) in LETTERS.iter().zip(values) {
            writeln!(text, "{letter} {value}").expect("a string takes all");
        }
        text
    }

    /// Reads a text. It never panics, and neither does any step on the record that it returns.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let lines = lines(text);
        if lines.len() != LETTERS.len() || text.lines().count() != LETTERS.len() {
            return None;
        }
        let line = |letter| lines.get(letter).copied();
        let small = |letter| number(line(letter)?).and_then(|number| u32::try_from(number).ok());
        let states = [State::Closed, State::Open, State::HalfOpen];
        let state = states.into_iter().find(|state| Some(&state.as_str()[..1]) == line("s"))?;
        let until = match line("u")? {
            "" if state != State::Open => None,
            "-" if state == State::Open => None,
            text => Some(instant(text)?),
        };
        let known = line("n")?;
        let settings = if known.is_empty() { Settings::default() } else { numbers::settings(known)? };
        let (window, mut marks, mut parts) = (line("w")?, Vec::new(), Vec::new());
        if settings.window_calls().is_some() {
            marks = window.bytes().map(mark).collect::<Option<_>>()?;
        } else {
            let numbers: Vec<u64> = window.split(' ').map(number).collect::<Option<_>>()?;
            let part = |part: &[u64]| match *part {
                [calls, failures, slow] => Some(Counts { calls, failures, slow }),
                _ => None,
            };
            parts = numbers.chunks(3).map(part).collect::<Option<_>>()?;
        }
        let snapshot = Snapshot {
            state,
            generation: number(line("g")?)?,
            until,
            reopened: small("r")?,
            marks,
            newest: number(line("p")?)?,
            parts,
            successes: small("x")?,
            failures: small("y")?,
            probes: line("b")?.split(' ').filter(|word| !word.is_empty()).map(probe).collect::<Option<_>>()?,
        };
        let differed = match line("d")? {
            "" => None,
            text => Some(instant(text)?),
        };
        Some(Record { circuit: Circuit::restore(settings, &snapshot)?, settings: known.to_owned(), differed })
    }
}

fn lines(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(' ')).collect()
}

fn words(words: impl Iterator<Item: Display>) -> String {
    let words: Vec<String> = words.map(|word| word.to_string()).collect();
    words.join(" ")
}

/// An instant of a server's clock, in whole microseconds.
fn micros(instant: Instant) -> u64 {
    instant.as_nanos() / 1000
}

/// Reads a number that a server can have.
fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_plain && *number <= 1 << 53)
}

fn instant(text: &str) -> Option<Instant> {
    Some(Instant::from_nanos(number(text)? * 1000))
}

fn mark(letter: u8) -> Option<Mark> {
    let (failed, slow) = match letter {
        b'.' => (false, false),
        b'f' => (true, false),
        b's' => (false, true),
        b'b' => (true, true),
        _ => return None,
    };
    Some(Mark { failed, slow })
}

fn probe(word: &str) -> Option<(Instant, ProbeId)> {
    let (until, id) = word.split_once(':')?;
    Some((instant(until)?, ProbeId(u64::from_str_radix(id, 16).ok()?)))
}
