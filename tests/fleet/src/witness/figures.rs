//! Figures about the calls of a time span.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Call, Hold, Nanos};

/// The calls of clients that got a permit in the span.
fn within<'a>(calls: &'a [Call], span: &Range<Nanos>) -> impl Iterator<Item = (&'a Call, &'a Hold, Nanos)> {
    let admitted = calls.iter().filter_map(|call| call.admitted().map(|(hold, end)| (call, hold, end)));
    let (from, until) = (span.start, span.end);
    admitted.filter(move |(.., end)| (from..until).contains(end))
}

/// Returns Jain's index over the clients' numbers of admissions: 1 if all are equal, 1/n if one of
/// n had all. All clients that called at all count.
pub fn jain(calls: &[Call], span: &Range<Nanos>) -> f64 {
    let mut counts: BTreeMap<u32, u32> = calls.iter().map(|call| (call.client, 0)).collect();
    for (call, ..) in within(calls, span) {
        *counts.entry(call.client).or_default() += 1;
    }
    let sum: f64 = counts.values().copied().map(f64::from).sum();
    let squares: f64 = counts.values().map(|count| f64::from(*count).powi(2)).sum();
    let clients = f64::from(u32::try_from(counts.len()).unwrap_or(u32::MAX));
    if squares > 0.0 { sum * sum / (clients * squares) } else { 0.0 }
}

/// Returns how long the calls waited that were admitted in the span, sorted.
pub fn waits(calls: &[Call], span: &Range<Nanos>) -> Vec<Nanos> {
    sorted(within(calls, span).map(|(call, _, end)| end - call.start))
}

/// Returns how long the releases took until the server had confirmed them, sorted.
pub fn releases(calls: &[Call], span: &Range<Nanos>) -> Vec<Nanos> {
    sorted(within(calls, span).filter_map(|(_, hold, _)| hold.release.and_then(|(start, end)| Some(end? - start))))
}

/// Returns the times from the start of a release to the next permit of any call, sorted: for a
/// limit of one, and only where a call had certainly been waiting when the release began.
///
/// It is certain for a call that began before the holder had its permit, as this has been held for
/// longer than a command travels.
pub fn hand_offs(calls: &[Call], span: &Range<Nanos>) -> Vec<Nanos> {
    let mut holds: Vec<_> = within(calls, span).map(|(call, hold, end)| (end, call.start, hold.release)).collect();
    holds.sort_unstable_by_key(|(end, ..)| *end);
    // From the last one back: the first start of all that were admitted later.
    let (mut first, mut times) = (Nanos::MAX, Vec::new());
    for place in (0..holds.len().saturating_sub(1)).rev() {
        let ((had, _, release), (next, start, _)) = (holds[place], holds[place + 1]);
        first = first.min(start);
        let release = release.map(|(start, _)| start).filter(|release| first < had && *release < next);
        times.extend(release.map(|release| next - release));
    }
    sorted(times.into_iter())
}

/// Returns how long the calls waited whose unit was idle in another process when they began,
/// sorted: for a limit of one.
pub fn moves(calls: &[Call], span: &Range<Nanos>) -> Vec<Nanos> {
    let mut holds: Vec<_> = within(calls, span).collect();
    holds.sort_unstable_by_key(|(.., end)| *end);
    let waits = holds.windows(2).filter_map(|pair| {
        let ((last, hold, _), (call, _, end)) = (pair[0], pair[1]);
        let is_idle = hold.release.is_some_and(|(start, _)| start < call.start);
        (is_idle && last.process != call.process).then(|| end - call.start)
    });
    sorted(waits)
}

/// Returns how long after its first call a process had this many units in use.
pub fn reached(calls: &[Call], process: u32, units: u32) -> Option<Nanos> {
    let calls = || calls.iter().filter(|call| call.process == process);
    let holds = calls().filter_map(|call| Some((call.cost, call.admitted()?)));
    // Of a hold that nothing was seen of, no time is certain.
    let holds = holds.filter(|(_, (hold, end))| hold.valid_until > *end);
    let mut changes: Vec<_> =
        holds.flat_map(|(cost, (hold, end))| [(hold.valid_until, false, cost), (end, true, cost)]).collect();
    changes.sort_unstable();
    let mut used = 0;
    let (at, ..) = changes.into_iter().find(|(_, is_begin, cost)| {
        used = if *is_begin { used + cost } else { used - cost };
        used >= units
    })?;
    Some(at - calls().map(|call| call.start).min()?)
}

/// Returns the part of the limit that was certainly in use in the span.
pub fn utilisation(calls: &[Call], span: &Range<Nanos>, limit: u64) -> f64 {
    let used = calls.iter().filter_map(|call| call.admitted().map(|(hold, end)| (call, hold, end)));
    let used = used.map(|(call, hold, end)| {
        let time = hold.valid_until.min(span.end).saturating_sub(end.max(span.start));
        f64::from(call.cost) * seconds(time)
    });
    used.sum::<f64>() / (seconds(span.end.saturating_sub(span.start)) * float(limit))
}

/// Returns the mean of the times for which the calls of the span had their permits.
pub fn mean(calls: &[Call], span: &Range<Nanos>) -> f64 {
    let times = within(calls, span).map(|(_, hold, end)| hold.valid_until.saturating_sub(end));
    let (count, sum) = times.fold((0_u32, 0), |(count, sum), time| (count + 1, sum + time));
    if count == 0 { 0.0 } else { float(sum) / f64::from(count) }
}

/// Returns the value below which the part of the sorted values is, and 0 if there are none.
pub fn percentile(values: &[Nanos], part: f64) -> Nanos {
    let last = values.len().saturating_sub(1);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "small numbers"
    )]
    let place = (last as f64 * part).round() as usize;
    values.get(place).copied().unwrap_or(0)
}

fn seconds(time: Nanos) -> f64 {
    float(time) / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "an f64 has more digits than what was measured")]
fn float(number: u64) -> f64 {
    number as f64
}

fn sorted(values: impl Iterator<Item = Nanos>) -> Vec<Nanos> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values
}

#[cfg(test)]
mod tests {
    use super::super::tests::{admitted, call};
    use super::super::{Outcome, tests::waiting};
    use super::*;

    const ALL: Range<Nanos> = 0..1_000;

    #[test]
    fn jain_is_one_for_equals_and_small_for_a_monopoly() {
        let of = |clients: &[u32]| clients.iter().map(|client| admitted(*client, [0, 1, 2, 3])).collect::<Vec<_>>();
        assert!((jain(&of(&[1, 2, 3, 3, 2, 1]), &ALL) - 1.0).abs() < 1e-9);
        let mut calls = of(&[1, 1, 1]);
        calls.push(call(2, 0, 1, Outcome::Saturated));
        assert!((jain(&calls, &ALL) - 0.5).abs() < 1e-9);
        assert!(jain(&calls, &(5..6)).abs() < 1e-9);
    }

    #[test]
    fn waits_are_those_of_the_span() {
        let calls = [admitted(1, [0, 30, 40, 50]), admitted(2, [5, 15, 20, 21]), admitted(3, [0, 1_000, 1_001, 1_002])];
        assert_eq!(waits(&calls, &ALL), [10, 30]);
        assert_eq!(releases(&calls, &ALL), [1, 10]);
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| percentile(&[1, 2, 3, 4, 5], part)), [1, 3, 5, 5]);
        assert_eq!(percentile(&[], 0.5), 0);
    }

    #[test]
    fn a_hand_off_counts_while_a_call_waits_even_if_another_is_next() {
        let first = admitted(1, [0, 10, 20, 30]);
        let next = waiting(admitted(2, [5, 26, 40, 50]));
        let late = waiting(admitted(3, [27, 45, 60, 70]));
        assert_eq!(hand_offs(&[next.clone(), late.clone(), first.clone()], &ALL), [6]);
        // The last one was there from the beginning, and overtaken.
        let patient = waiting(admitted(4, [1, 67, 90, 91]));
        assert_eq!(hand_offs(&[next, late, first, patient], &ALL), [5, 6, 7]);
    }

    #[test]
    fn a_unit_moves_if_it_was_idle_in_another_process() {
        let of = |process, call: Call| Call { process, ..call };
        let calls = [
            of(1, admitted(1, [0, 10, 20, 30])),
            // Its own, then that of another, and one that was in use when it was asked for.
            of(1, admitted(1, [40, 41, 50, 60])),
            of(2, admitted(2, [70, 78, 90, 95])),
            of(1, admitted(1, [80, 99, 110, 120])),
        ];
        assert_eq!(moves(&calls, &ALL), [8]);
    }

    #[test]
    fn units_are_reached_by_calls_that_run_at_once() {
        let times = [[5, 10, 20, 30], [8, 20, 40, 50], [8, 30, 60, 70]];
        let mut calls = times.map(|times| Call { process: 1, ..admitted(1, times) });
        assert_eq!(reached(&calls, 1, 2), Some(25));
        assert_eq!(reached(&calls, 1, 3), None);
        assert_eq!(reached(&calls, 2, 1), None);
        calls[1].cost = 3;
        assert_eq!(reached(&calls, 1, 3), Some(15));
        let unseen = Call { process: 1, ..admitted(1, [0, 10, 10, 20]) };
        assert_eq!(reached(&[unseen, calls[0].clone()], 1, 1), Some(10));
        assert_eq!(reached(&[admitted(1, [0, 10, 10, 20])], 1, 1), None);
    }

    #[test]
    fn utilisation_is_the_part_of_the_limit_in_the_span() {
        let calls = [admitted(1, [0, 100, 300, 310]), Call { cost: 2, ..admitted(2, [0, 900, 1_300, 1_310]) }];
        assert!((utilisation(&calls, &ALL, 4) - 0.1).abs() < 1e-9);
        assert!((mean(&calls, &ALL) - 300.0).abs() < 1e-9);
    }
}
