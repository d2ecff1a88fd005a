//! The definition of a plant in one line.

use std::fmt::Write;

use crate::backend::{Backend, Kind, Phase};
use crate::peers::Outcome;
use crate::plant::Plant;
use crate::random::Distribution;

/// A longer schedule is shown by its ends.
const SHOWN: usize = 5;

/// Returns all that distinguishes a plant but its name, in one line.
pub fn describe(plant: &Plant) -> String {
    let mut text = backend(&plant.backend);
    let _ = write!(text, "; {}", loads(&plant.load));
    if plant.batch > 1 {
        let _ = write!(text, " in batches of {}", plant.batch);
    }
    if plant.burst > 0 {
        let _ = write!(text, ", and {} at the start", plant.burst);
    }
    if !plant.mix.shares.is_empty() {
        let shares = schedule(plant.mix.shares.iter().map(|(from, share)| (*from, format!("{} %", percent(*share)))));
        let _ = write!(text, "; {shares} of the calls take {} times as long", plant.mix.factor);
    }
    if plant.fails_as == Outcome::Ignore {
        text += "; failures are not told to the controller";
    }
    let _ = write!(text, "; deadline {}", seconds(plant.deadline));
    if plant.wait > 0.0 {
        let _ = write!(text, ", wait limit {}", seconds(plant.wait));
    }
    let _ = write!(text, ", room {}", plant.room);
    if plant.timeout > 0.0 {
        let _ = write!(text, ", timeout {}", seconds(plant.timeout));
    }
    if plant.retries > 0 {
        let _ = write!(text, ", {} retries", plant.retries);
    }
    let _ = write!(text, "; measured from {} s to {} s", plant.warm, plant.end);
    if plant.start != 20 {
        let _ = write!(text, ", from a limit of {}", plant.start);
    }
    text
}

fn backend(backend: &Backend) -> String {
    let servers = |what: &str| {
        let phases = backend.phases.iter().map(|phase| (phase.from, phase.servers.to_string()));
        format!("{} {what}", schedule(changes(phases)))
    };
    let law = |contention: f64, crosstalk: f64| format!("contention {contention}, crosstalk {crosstalk}");
    let kind = match backend.kind {
        Kind::Workers => servers("workers"),
        Kind::Sharing => format!("processor sharing, {}", servers("servers")),
        Kind::Scaling { contention, crosstalk } => format!("scaling with {}", law(contention, crosstalk)),
        Kind::Pool { contention, crosstalk } => {
            format!("{} whose calls scale with {}", servers("connections"), law(contention, crosstalk))
        }
        Kind::Curve(points) => {
            let points: Vec<_> = points.iter().map(|(calls, hold)| format!("{} at {calls}", seconds(*hold))).collect();
            format!("a hold by the calls in flight ({})", points.join(", "))
        }
        Kind::Capped { drops: true } => format!("{}, beyond which calls are dropped", servers("calls")),
        Kind::Capped { drops: false } => format!("{}, beyond which calls fail after 5 ms", servers("calls")),
        Kind::Metered { rate, burst, penalty } => {
            format!(
                "a bucket of {burst} tokens, {rate} a second; calls without one take {penalty} and fail after 20 ms"
            )
        }
    };
    let work = match (backend.kind, backend.distribution) {
        (Kind::Curve(_), distribution) => format!("work {}", spread(distribution)),
        (_, distribution) => format!("{} {}", seconds(backend.service), spread(distribution)),
    };
    let mut text = format!("{kind}, {work}");
    let mut varies = |what: &str, of: fn(&Phase) -> f64| {
        if backend.phases.iter().any(|phase| of(phase).to_bits() != of(&backend.phases[0]).to_bits()) {
            let values = backend.phases.iter().map(|phase| (phase.from, rounded(of(phase))));
            let _ = write!(text, ", {what} {}", schedule(changes(values)));
        }
    };
    match backend.kind {
        Kind::Curve(_) => varies("numbers of calls times", |phase| phase.servers),
        Kind::Metered { .. } => varies("tokens a second times", |phase| phase.servers),
        _ => {}
    }
    varies("times", |phase| phase.work);
    varies("at speed", |phase| phase.speed);
    varies("lost share", |phase| phase.lost);
    text
}

fn spread(distribution: Distribution) -> String {
    match distribution {
        Distribution::Constant => "constant".into(),
        Distribution::Exponential => "exponential".into(),
        Distribution::LogNormal(spread) => format!("log-normal {spread}"),
    }
}

fn loads(load: &[(f64, f64)]) -> String {
    schedule(load.iter().map(|(from, rate)| (*from, format!("{}/s", rounded(*rate)))))
}

/// Leaves out what does not change.
fn changes(values: impl Iterator<Item = (f64, String)>) -> impl Iterator<Item = (f64, String)> {
    let mut last = None;
    values.filter(move |(_, value)| last.replace(value.clone()).as_ref() != Some(value))
}

/// A value, or values with the times from which they hold.
fn schedule(values: impl Iterator<Item = (f64, String)>) -> String {
    let values: Vec<_> = values.collect();
    let text = |(from, value): &(f64, String)| {
        if *from > 0.0 { format!("{value} from {} s", rounded(*from)) } else { value.clone() }
    };
    if values.len() <= SHOWN {
        return values.iter().map(text).collect::<Vec<_>>().join(", ");
    }
    let (first, last) = (values[..3].iter().map(text).collect::<Vec<_>>().join(", "), text(&values[values.len() - 1]));
    format!("{first}, … {last} ({} steps)", values.len())
}

fn seconds(time: f64) -> String {
    if time < 1.0 { format!("{} ms", rounded(time * 1000.0)) } else { format!("{} s", rounded(time)) }
}

fn percent(share: f64) -> String {
    rounded(share * 100.0)
}

/// A number with at most two decimals.
fn rounded(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
