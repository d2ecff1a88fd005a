//! The page as text.

use std::fmt::{self, Write};
#[cfg(any(feature = "breaker", feature = "fleet"))]
use std::time::Duration;

use bulklink::Restriction;
use bulklink::config::FileStatus;
use bulklink::limit::{Adaptive, State};
use bulklink::partitions::{KeyLoad, WorstKeys};
use bulklink::plumbing::Rounded;

use super::origin::Head;
use super::recent::LONGEST;
use super::row::{Finding, Kind, Recently, Row, shortened};
use super::worst::{Rows, Shown};

pub(super) fn page(head: &Head<'_>, page: &Rows) -> String {
    let mut text = String::new();
    write(head, page, &mut text).expect("a string takes any text");
    text
}

fn write(head: &Head<'_>, page: &Rows, text: &mut String) -> fmt::Result {
    write!(text, "{}, process {}", head.time, head.process)?;
    if let Some(host) = head.host {
        write!(text, " on {}", Short(host))?;
    }
    writeln!(text, ", page up for {}", Up(head.up.as_secs()))?;
    if let Some(file) = &head.file {
        write_file(file, text)?;
    }
    let (rows, counts) = (&page.rows, page.counts);
    write!(text, "bulkheads: {}", counts.bulkheads)?;
    if counts.breakers > 0 {
        write!(text, ", breakers: {}", counts.breakers)?;
    }
    if counts.shares > 0 {
        write!(text, ", shares: {}", counts.shares)?;
    }
    writeln!(text, ", worst first")?;
    let have_rates = || rows.iter().filter_map(Shown::has_rates);
    if have_rates().next().is_some() && !have_rates().any(|has| has) {
        let longest = LONGEST.as_secs();
        writeln!(text, "nothing is known of the last {longest} s: look again, for rates and what they say")?;
    }
    for row in rows {
        match row {
            Shown::Bulkhead(row) => write_row(row, text)?,
            #[cfg(feature = "breaker")]
            Shown::Breaker(row) => super::breaker::text::write_row(row, text)?,
            #[cfg(feature = "fleet")]
            Shown::Share(row) => super::share::text::write_row(row, text)?,
        }
    }
    let left_out = page.left_out();
    if left_out > 0 {
        writeln!(text, "\n{left_out} more, none of them worse; ?limit= shows up to 1000")?;
    }
    Ok(())
}

fn write_file(file: &FileStatus, text: &mut String) -> fmt::Result {
    /// How many characters of the reasons are shown.
    const LONGEST: usize = 500;
    let FileStatus { applied, refused, refusal, .. } = file;
    write!(text, "settings: {}, {applied} applied, {refused} refused", Short(&file.path))?;
    if let Some(reasons) = refusal {
        let shown: String =
            reasons.chars().map(|each| if each.is_control() { ' ' } else { each }).take(LONGEST).collect();
        let cut = if reasons.chars().nth(LONGEST).is_some() { "…" } else { "" };
        write!(text, "\n  warning     the present text is refused, and that of before stays: {shown}{cut}")?;
    }
    text.write_char('\n')
}

fn write_row(row: &Row, text: &mut String) -> fmt::Result {
    let Row { limits, totals, .. } = row;
    write!(text, "\n{}: {}", Short(&row.label), row.severity)?;
    for (is_so, state) in [(row.is_closed, "closed"), (row.is_paused, "paused")] {
        if is_so {
            write!(text, ", {state}")?;
        }
    }
    if let Kind::Partitions { status, .. } = &row.kind {
        let (kept, most) = (status.partitions, status.snapshot.limits.max_partitions);
        let (in_use, evicted) = (status.active_partitions, status.totals.evicted);
        write!(text, "\n  partitions  {kept} of {most}, {in_use} in use; {evicted} evicted")?;
    }
    // A sum over all keys may well be above the limit of each.
    let of = |limit: usize| match row.kind {
        Kind::Partitions { .. } => format!(" ({limit} for each)"),
        Kind::Bulkhead { .. } => format!(" of {limit}"),
    };
    let shared = match &row.kind {
        Kind::Partitions { status, .. } => status.shared,
        Kind::Bulkhead { .. } => None,
    };
    let capacity = shared.map_or_else(|| of(limits.capacity), |shared| format!(" of {} shared", shared.capacity));
    write!(text, "\n  in use      {}{capacity}", row.in_use)?;
    if let Some(Restriction { by, units, .. }) = row.restriction {
        write!(text, " ({units} allowed by {})", Name(by))?;
    }
    write!(text, ", {} running", row.in_flight)?;
    if row.uncollected > 0 {
        write!(text, ", {} not collected", row.uncollected)?;
        if let Kind::Bulkhead { oldest_uncollected: Some(age), .. } = row.kind {
            write!(text, " (the oldest for {})", Rounded(age))?;
        }
    }
    if row.written_off > 0 {
        write!(text, ", {} written off", row.written_off)?;
    }
    write_adaptive(&row.kind, text)?;
    let room = shared.and_then(|shared| shared.waiting_room);
    let room = room.map_or_else(|| of(limits.waiting_room), |room| format!(" of {room} shared"));
    write!(text, "\n  waiting     {}{room}", row.waiting)?;
    if let Some(units) = limits.waiting_room_units {
        write!(text, ", for {}{} units", row.waiting_units, of(units))?;
    }
    if let Some(limit) = limits.wait_limit {
        write!(text, ", at most {}", Rounded(limit))?;
    }
    if let Kind::Bulkhead { oldest_wait: Some(age), .. } = row.kind {
        write!(text, "; the oldest for {}", Rounded(age))?;
    }
    write!(text, "\n  admitted    {}, {} from the queue", totals.admitted, totals.admitted_from_queue)?;
    if let Some(mean) = totals.average_wait() {
        write!(text, " after {} on average", Rounded(mean))?;
    }
    match row.kind {
        Kind::Bulkhead { longest_wait, .. } if totals.admitted_from_queue > 0 => {
            write!(text, " and {} at most", Rounded(longest_wait))?;
        }
        _ => {}
    }
    write!(text, "; {} finished, {} abandoned", totals.finished, totals.abandoned)?;
    if row.taken_back > 0 {
        write!(text, ", {} taken back", row.taken_back)?;
    }
    write!(text, "\n  rejected    {} ({:.1} %)", row.rejected, row.rejected_share * 100.0)?;
    let expired = totals.expired.saturating_add(totals.expired_before_queue);
    let of_partitions = match &row.kind {
        Kind::Partitions { status, .. } => (status.totals.limit_rejected, status.totals.closed_rejected),
        Kind::Bulkhead { .. } => (0, 0),
    };
    let reasons = [
        ("saturated", totals.saturated),
        ("displaced", totals.displaced),
        ("expired", expired),
        ("closed", totals.closed().saturating_add(of_partitions.1)),
        ("without a partition", of_partitions.0),
    ];
    for (place, (reason, count)) in reasons.into_iter().filter(|(_, count)| *count > 0).enumerate() {
        write!(text, "{} {count} {reason}", if place == 0 { ":" } else { "," })?;
    }
    write!(text, "; {} cancelled", totals.cancelled)?;
    if let Some(recently) = &row.recently {
        let Recently { time, admitted, rejected, cancelled, rejected_share } = recently;
        let rate = |calls: &u64| recently.per_second(*calls);
        write!(text, "\n  recently    in {}: {admitted} admitted ({:.1}/s), ", Rounded(*time), rate(admitted))?;
        write!(text, "{rejected} rejected ({:.1}/s, {:.1} %), ", rate(rejected), rejected_share * 100.0)?;
        write!(text, "{cancelled} cancelled")?;
    }
    if let Kind::Partitions { keys: Some(keys), .. } = &row.kind {
        write_keys(keys, text)?;
    }
    write_findings(&row.findings, text)?;
    text.write_char('\n')
}

/// The limit, its mode and the reason of its latest step, if there is an adaptive limit.
fn write_adaptive(kind: &Kind, text: &mut String) -> fmt::Result {
    match kind {
        Kind::Bulkhead { adaptive: Some(adaptive), .. } => {
            let Adaptive { state, bounds: (least, most), raised, lowered, .. } = **adaptive;
            write!(text, "\n  adaptive    {} within {least} to {most}, ", state.limit)?;
            if adaptive.has_failed {
                text.write_str("failed")?;
            } else {
                write!(text, "{}: {}", adaptive.mode.as_str(), state.step.explanation())?;
            }
            // A limit of the program need not know them.
            if state.inflation > 0.0 {
                let State { inflation, slope, useful, .. } = state;
                write!(text, "; inflation {inflation:.2}, slope {slope:.2}, {useful:.1} useful")?;
            }
            write!(text, "; moved up {raised}, down {lowered} times")
        }
        Kind::Partitions { adaptive: Some((limit, failed)), .. } => {
            write!(text, "\n  adaptive    {limit} together, {failed} failed")
        }
        _ => Ok(()),
    }
}

pub(super) fn write_findings(findings: &[Finding], text: &mut String) -> fmt::Result {
    for found in findings {
        write!(text, "\n  {:<10}  {}: {}", found.severity.as_str(), found.code, found.message)?;
    }
    Ok(())
}

/// A line for each kind of load that any key has.
fn write_keys(keys: &WorstKeys, text: &mut String) -> fmt::Result {
    let mut line = |what: &str, loads: &[KeyLoad], figure: fn(&KeyLoad) -> String| {
        for (place, load) in loads.iter().enumerate() {
            let before = if place == 0 { format!("\n  keys        {what}:") } else { ",".to_owned() };
            write!(text, "{before} {} {}", Short(&load.key), figure(load))?;
        }
        Ok(())
    };
    line("in use", &keys.in_use, |load| format!("{} of {}", load.in_use, load.capacity))?;
    line("waiting", &keys.waiting, |load| format!("{} of {}", load.waiting, load.waiting_room))?;
    let rejected = format!("rejected in {}", Rounded(keys.period.unwrap_or_default()));
    line(&rejected, &keys.rejected, |load| load.rejected.to_string())
}

/// Displays a label or a key, cut off if it is long.
pub(super) struct Short<'a>(pub(super) &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, is_cut_off) = shortened(self.0);
        Name(name).fmt(f)?;
        if is_cut_off { f.write_str("…") } else { Ok(()) }
    }
}

/// Displays a name, in quotation marks and escaped unless it is plain.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name(name) = *self;
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
        if name.chars().all(is_plain) { f.write_str(name) } else { write!(f, "{name:?}") }
    }
}

/// Displays these seconds in the two largest units.
struct Up(u64);

impl fmt::Display for Up {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            up @ ..60 => write!(f, "{up} s"),
            up @ ..3_600 => write!(f, "{} min {} s", up / 60, up % 60),
            up @ ..86_400 => write!(f, "{} h {} min", up / 3_600, up / 60 % 60),
            up => write!(f, "{} d {} h", up / 86_400, up / 3_600 % 24),
        }
    }
}

/// Displays an age: rounded below a minute, else in the two largest units.
#[cfg(any(feature = "breaker", feature = "fleet"))]
pub(super) struct Age(pub(super) Duration);

#[cfg(any(feature = "breaker", feature = "fleet"))]
impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let is_short = seconds < 60 && !self.0.is_zero();
        if is_short { Rounded(self.0).fmt(f) } else { Up(seconds).fmt(f) }
    }
}
