//! Circuits as a store keeps them, and their texts.

use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink_breaker::plumbing::Span;
use bulklink_breaker::{Mark, Outcomes, Settings};
use bulklink_fleet::StoreError;
use bulklink_fleet::circuits::numbers::{settings, text};
use bulklink_fleet::circuits::record::Record;
use bulklink_fleet::circuits::{Effect, Force, Operation, Report};
use proptest::prelude::*;

fn known() -> impl Strategy<Value = Settings> {
    let window = prop_oneof![
        (1..40_u32).prop_map(Span::Calls),
        (10_000_000..90_000_000_u64).prop_map(|nanos| { Span::Time(Duration::from_nanos(nanos)) })
    ];
    let threshold = || prop_oneof![Just((0, 0)), (1..9_u32, Just(0)), (Just(0), 1..=100_u32)];
    let times = prop::array::uniform4(1..5_000_000_u64);
    let numbers = (prop::option::of(1..9_u32), 1..5_u32, 1..5_u32, 1..5_u32);
    (window, threshold(), threshold(), times, numbers).prop_map(|(window, failures, slow, times, numbers)| {
        let (min_calls, probes, close, reopen) = numbers;
        let [cool_down, more, lease, after] = times.map(Duration::from_nanos);
        let mut settings = match window {
            Span::Calls(calls) => Settings::of_last(calls),
            Span::Time(time) => Settings::over(time),
        };
        settings = match failures {
            (0, 0) => settings,
            (0, percent) => settings.failure_rate(percent),
            (calls, _) => settings.failures(calls),
        };
        settings = match slow {
            (0, 0) => settings,
            (0, percent) => settings.slow_rate(after, percent),
            (calls, _) => settings.slow_calls(after, calls),
        };
        settings = settings.cool_down(cool_down).probe_lease(lease);
        settings = settings.probes(probes).close_after(close).reopen_after(reopen);
        if more.as_nanos() % 2 == 0 {
            settings = settings.longest_cool_down(cool_down + more);
        }
        min_calls.map_or(settings, |calls| settings.min_calls(calls))
    })
}

proptest! {
    /// A server has the whole of the settings.
    #[test]
    fn settings_that_are_read_have_the_same_numbers(original in known()) {
        let Ok(text) = text(&original) else { return Ok(()) };
        let read = settings(&text).expect("they are settings");
        prop_assert_eq!(self::text(&read), Ok(text));
    }
}

#[test]
fn other_texts_are_no_settings() {
    let whole = text(&Settings::of_last(10).failures(5)).unwrap();
    assert!(settings(&whole).is_some());
    for other in
        ["", "1 2 3", "x", &whole.replacen("10", "0", 1), &format!("{whole} 1"), &whole.replacen("10", "-1", 1)]
    {
        assert_eq!(settings(other), None, "{other}");
    }
}

fn report(record: &mut Record, settings: &Settings, at: u64, failed: &[bool]) {
    let mut outcomes = Outcomes::default();
    for failed in failed {
        outcomes.push(settings, Mark { failed: *failed, slow: false });
    }
    let report = Operation::Report(Report::Closed { generation: record.generation(), outcomes });
    let reply = record.apply(Instant::from_nanos(at * 1000), Some(settings), &report).unwrap();
    assert_eq!(reply.effect, Effect::Done);
}

#[test]
fn a_window_of_time_begins_with_its_newest_part() {
    let settings = Settings::over(Duration::from_millis(10)).failures(9);
    let mut record = Record::new(Instant::from_nanos(7_000));
    report(&mut record, &settings, 20_000, &[false]);
    report(&mut record, &settings, 21_500, &[true, true]);
    let text = record.text();
    assert!(text.contains("\nw 2 2 0 1 0 0 0 0 0 ") && text.contains("\np 21\n"), "{text}");
    assert!(text.starts_with("s c\ng 7\nu \nr 0\nn 0 1000 9 0 1 "), "{text}");
    assert_eq!(Record::of_text(&text).map(|record| record.text()), Some(text));
}

#[test]
fn a_record_in_the_place_of_another_has_a_later_generation() {
    let now = Instant::from_nanos(7_000_000);
    for (text, generation) in [("", 7_000), ("g 6999", 7_000), ("s x\ng 9000", 9_001), ("g 9007199254740993", 7_000)] {
        assert_eq!(Record::of_text(text), None);
        assert_eq!(Record::in_place_of(text, now).generation(), generation, "{text}");
    }
}

#[test]
fn impossible_settings_change_nothing() {
    let mut record = Record::new(Instant::EPOCH);
    let before = record.clone();
    let never = Settings::of_last(5);
    let refused = record.apply(Instant::EPOCH, Some(&never), &Operation::Force(Force::Open, None));
    assert_eq!(refused, Err(StoreError::refused("SETTINGS")));
    assert_eq!(record, before);
}
