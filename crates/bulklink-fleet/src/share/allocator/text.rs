//! The state of a name as texts, as real servers keep it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::row::Row;
use super::{Allocator, Data, Declaration, ProcessId, RunId, ServerTime};
use crate::share::Terms;

/// The state of a name as texts, which a server keeps and people can read.
///
/// It is for stores and their tests, and may change in any release.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The names of values, and the values.
    pub settings: BTreeMap<String, String>,
    /// The processes, and their rows.
    pub rows: BTreeMap<String, String>,
}

/// Numbers are exact below this, and sums of them cannot overflow.
const MAX: u64 = 1 << 53;

impl Allocator {
    /// Returns the texts of the state. None if there is no data.
    #[doc(hidden)]
    #[must_use]
    pub fn texts(&self) -> Option<Texts> {
        let data = self.data.as_ref()?;
        let settings = data.settings().map(|(name, value)| (name.to_owned(), value));
        let rows = data.rows.iter().map(|(process, row)| (process.to_string(), row.text()));
        Some(Texts { settings: settings.into(), rows: rows.collect() })
    }

    /// Returns the state of these texts, or `None` if they are malformed. No step on it panics.
    #[doc(hidden)]
    #[must_use]
    pub fn of_texts(texts: &Texts) -> Option<Self> {
        let rows = texts.rows.iter().map(|(process, row)| Some((process.parse().ok()?, Row::of_text(row)?)));
        let rows = rows.collect::<Option<_>>()?;
        Some(Self { data: Some(Data::of_settings(&texts.settings, rows)?) })
    }
}

impl Data {
    fn settings(&self) -> [(&'static str, String); 25] {
        let Terms { lease, claim, calm, recovers } = self.declaration.terms;
        let living = || self.rows.values().filter(|row| row.is_served() && !row.is_empty());
        let number = |number: u64| number.to_string();
        [
            ("epoch", number(self.epoch.into())),
            ("run", run_text(self.run)),
            ("config", number(self.declaration.config)),
            ("limit", number(self.declaration.limit.into())),
            ("lease", micros(lease)),
            ("claim", micros(claim)),
            ("calm", micros(calm)),
            ("recovers", number(recovers.into())),
            ("declarer", self.declarer.to_string()),
            ("live", number(self.limit.into())),
            ("version", number(self.version.into())),
            ("token", number(self.token.into())),
            ("ticket", number(self.ticket)),
            ("clock", number(self.clock.into())),
            ("ahead", number(self.ahead)),
            ("quarantine", number(self.quarantine.into())),
            ("horizon", number(self.horizon.into())),
            ("tight", number(self.tight.into())),
            ("level", number(u32::from(self.level).into())),
            ("leveled", number(self.leveled.into())),
            ("told", number(self.told.0.into())),
            ("told_level", number(u32::from(self.told.1).into())),
            // Kept so that a server need not look at each row.
            ("granted", number(self.granted())),
            ("living", number(living().count() as u64)),
            ("weights", number(living().map(|row| u64::from(row.weight.max(1))).sum())),
        ]
    }

    fn of_settings(settings: &BTreeMap<String, String>, rows: BTreeMap<ProcessId, Row>) -> Option<Self> {
        let text = |name| settings.get(name).map(String::as_str);
        let number = |name| number(text(name)?);
        let units = |name| u32::try_from(number(name)?).ok();
        let time = |name| number(name).map(ServerTime::from);
        let duration = |name| number(name).map(Duration::from_micros);
        let terms = Terms {
            lease: duration("lease")?,
            claim: duration("claim")?,
            calm: duration("calm")?,
            recovers: number("recovers")? != 0,
        };
        Some(Self {
            epoch: number("epoch")?.into(),
            run: if text("run")? == "-" { None } else { Some(run(text("run")?)?) },
            declaration: Declaration { config: number("config")?, limit: units("limit")?, terms }.bounded(),
            declarer: text("declarer")?.parse().ok()?,
            limit: units("live")?,
            version: number("version")?.into(),
            token: number("token")?.into(),
            ticket: number("ticket")?,
            clock: time("clock")?,
            ahead: number("ahead")?,
            quarantine: time("quarantine")?,
            horizon: time("horizon")?,
            tight: time("tight")?,
            level: units("level")?.into(),
            leveled: time("leveled")?,
            told: (time("told")?, units("told_level")?.into()),
            rows,
        })
    }
}

impl Row {
    fn text(&self) -> String {
        let Row { seq, serial, granted, need, least, weight, ticket, stated, heard, until, token } = self;
        format!("{seq} {serial} {granted} {need} {least} {weight} {ticket} {stated} {heard} {until} {token}")
    }

    fn of_text(text: &str) -> Option<Self> {
        let numbers = text.split(' ').map(number).collect::<Option<Vec<_>>>()?;
        let [seq, serial, granted, need, least, weight, ticket, stated, heard, until, token] = numbers[..] else {
            return None;
        };
        let units = |number| u32::try_from(number).ok();
        Some(Self {
            seq,
            serial: serial.into(),
            granted: units(granted)?,
            need: units(need)?,
            least: units(least)?,
            weight: units(weight)?,
            ticket,
            stated: stated.into(),
            heard: heard.into(),
            until: until.into(),
            token: token.into(),
        })
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number < MAX)
}

fn micros(duration: Duration) -> String {
    duration.as_micros().to_string()
}

/// The text of a run; `-` is none.
fn run_text(run: Option<RunId>) -> String {
    run.map_or_else(|| "-".to_owned(), |run| format!("{:016x}", u64::from(run)))
}

fn run(text: &str) -> Option<RunId> {
    u64::from_str_radix(text, 16).ok().map(RunId::from)
}
