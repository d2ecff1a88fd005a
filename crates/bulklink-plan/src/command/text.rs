//! A plan as text.

use std::fmt::Write;
use std::time::Duration;

use bulklink_plan::{Ask, Figures, Plan, WhatIf};

/// Returns the report, which ends with the end of a line.
pub(crate) fn report(ask: &Ask, plan: &Plan) -> String {
    let mut text = String::new();
    let _ = write_all(&mut text, ask, plan);
    text
}

fn write_all(text: &mut String, ask: &Ask, plan: &Plan) -> std::fmt::Result {
    let (limits, figures) = (&plan.limits, &plan.figures);
    if !plan.is_complete {
        writeln!(text, "interrupted: this is what is known so far")?;
    }
    let limit = limits.wait_limit.map_or_else(|| "none".to_owned(), time);
    let (capacity, room) = (limits.capacity, limits.waiting_room);
    writeln!(text, "parallelism {capacity}   waiting room {room}   wait limit {limit}")?;
    let parts = format!("no room {}, too late {}", number(figures.no_room), number(figures.too_late));
    writeln!(text, "  rejected  {}   {parts}", rejected(figures))?;
    writeln!(text, "  wait      p50 {}, p99 {}", time(figures.wait_p50), time(figures.wait_p99))?;
    if let (Some(in_time), Some(deadline)) = (figures.in_time, ask.deadline) {
        let (part, half) = (number(in_time.mean), number(in_time.half));
        let too_long = number(figures.too_long);
        writeln!(text, "  in time   {part} % ± {half}   hold alone over {}: {too_long} %", time(deadline))?;
    }
    let (in_use, offered) = (figures.in_use, ask.offered());
    writeln!(text, "  in use    {in_use:.1} of {capacity}   offered {offered:.1}")?;
    if plan.least_room < room {
        writeln!(text, "  rooms     from {} on, the search saw no difference", plan.least_room)?;
    }
    for (place, what_if) in plan.what_ifs.iter().enumerate() {
        writeln!(text, "{}", line(if place == 0 { "if" } else { "" }, what_if))?;
    }
    let (simulations, calls) = (plan.progress.simulations, millions(plan.progress.arrivals));
    writeln!(text, "{simulations} simulations, {calls} calls; seed {}", ask.seed)
}

fn line(head: &str, what_if: &WhatIf) -> String {
    let WhatIf { what, figures, needs, .. } = what_if;
    let in_time = figures.in_time.map(|in_time| format!(", in time {} %", number(in_time.mean)));
    let needs = needs.map(|needs| format!(", needs parallelism {needs}"));
    let (in_time, needs) = (in_time.unwrap_or_default(), needs.unwrap_or_default());
    format!("{head:2} {what:24} rejected {}{in_time}{needs}", rejected(figures))
}

/// With the interval, if it means something.
fn rejected(figures: &Figures) -> String {
    if figures.has_enough() {
        let estimate = figures.rejected;
        return format!("{} % ± {} (99 %)", number(estimate.mean), number(estimate.half));
    }
    format!("below {} % ({} seen)", number(figures.bound()), figures.rejections)
}

/// A part in percent, with two digits that mean something.
fn number(part: f64) -> String {
    let percent = 100.0 * part;
    if percent >= 10.0 {
        format!("{percent:.1}")
    } else if percent >= 1.0 {
        format!("{percent:.2}")
    } else {
        format!("{percent:.3}")
    }
}

pub(crate) fn millions(number: u64) -> String {
    format!("{}.{} M", number / 1_000_000, number / 100_000 % 10)
}

/// A time, to three digits.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        0.0 => return "0 ms".to_owned(),
        _ if seconds < 0.001 => (seconds * 1e6, "us"),
        _ if seconds < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}
