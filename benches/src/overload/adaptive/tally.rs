//! The figures of one run that depend on time.

use std::time::Duration;

use tokio::time::Instant;

use super::scene::WORKERS;
use super::{Effort, READ};
use crate::measure::float;
use crate::overload::load::{Fate, Sent};
use crate::overload::upstream::WORK;

/// The part of the new capacity that is to be in use.
const IN_USE: f64 = 0.9;
/// The part of a phase in which it is to be in use.
const PART: f64 = 1.0 / 3.0;
/// From one reading to the next.
const STEP: Duration = Duration::from_millis(250);

/// A change of the capacity, and what followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// When it was, from the beginning of the scene on.
    pub at: Duration,
    /// The workers before and after.
    pub workers: (usize, usize),
    /// The time until 90 % of the new capacity was in use for a third of the phase, unless it never
    /// was.
    pub after: Option<Duration>,
}

/// The limit at a time, and the answers until then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The seconds from the beginning of the scene.
    pub at: f64,
    /// The mean limit since the last reading.
    pub limit: f64,
    /// The answers in time since the last reading, per second.
    pub in_time: f64,
}

/// Returns when calls were answered in time, from the beginning on and in order.
#[must_use]
pub fn answers(sent: &[Sent], begin: Instant) -> Vec<Duration> {
    let at = |call: &Sent| match call.fate {
        Fate::Answered(at) => Some(at.saturating_duration_since(begin)),
        _ => None,
    };
    let mut answers: Vec<_> = sent.iter().filter_map(at).collect();
    answers.sort();
    answers
}

/// Returns the mean of the limits, which are at equal distances, from a time on.
#[must_use]
pub fn mean(limits: &[usize], from: Duration) -> f64 {
    let before = usize::try_from(from.as_nanos() / READ.as_nanos()).unwrap_or(usize::MAX);
    let limits = limits.get(before..).unwrap_or_default();
    float(limits.iter().sum::<usize>() as u128) / float(limits.len().max(1) as u128)
}

/// Returns the answers per second in each phase of
/// [`Scene::Capacity`](super::scene::Scene::Capacity).
#[must_use]
pub fn phases(answers: &[Duration], effort: Effort) -> Vec<f64> {
    let begins = [effort.warm_up].into_iter().chain(effort.steps());
    begins.map(|begin| count(answers, begin, begin + effort.measured) / effort.measured.as_secs_f64()).collect()
}

/// Returns what followed the changes of the capacity of
/// [`Scene::Capacity`](super::scene::Scene::Capacity).
#[must_use]
pub fn recoveries(answers: &[Duration], effort: Effort) -> Vec<Recovery> {
    let width = effort.measured.mul_f64(PART);
    let changes = effort.steps().into_iter().zip(WORKERS.windows(2));
    let recovery = |(step, workers): (Duration, &[usize])| {
        let needed = IN_USE * float(workers[1] as u128) * (width.as_secs_f64() / WORK.as_secs_f64());
        let last = step + effort.measured.saturating_sub(width);
        let mut times = (0..).map(|number| step + number * READ).take_while(|time| *time <= last);
        let found = times.find(|time| count(answers, *time, *time + width) >= needed);
        Recovery { at: step, workers: (workers[0], workers[1]), after: found.map(|time| time.saturating_sub(step)) }
    };
    changes.map(recovery).collect()
}

/// Returns the limit and the answers over time.
#[must_use]
pub fn readings(limits: &[usize], answers: &[Duration], length: Duration) -> Vec<Reading> {
    let ends = (1..).map(|number| number * STEP).take_while(|end| *end <= length);
    let per_step = usize::try_from(STEP.as_nanos() / READ.as_nanos()).unwrap_or(usize::MAX).max(1);
    let reading = |end: Duration| {
        let last = usize::try_from(end.as_nanos() / READ.as_nanos()).unwrap_or(usize::MAX).min(limits.len());
        Reading {
            at: end.as_secs_f64(),
            limit: mean(&limits[last.saturating_sub(per_step)..last], Duration::ZERO),
            in_time: count(answers, end.saturating_sub(STEP), end) / STEP.as_secs_f64(),
        }
    };
    ends.map(reading).collect()
}

/// Counts the answers from a time until before another.
fn count(answers: &[Duration], from: Duration, until: Duration) -> f64 {
    let before = |time| answers.partition_point(|at| *at < time);
    float((before(until) - before(from)) as u128)
}
