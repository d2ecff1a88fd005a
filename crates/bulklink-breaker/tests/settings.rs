//! Each setting that is impossible is refused, with its name and its value; the limits of each are
//! possible.

use std::time::Duration;

use bulklink_breaker::{Circuit, Settings};

const NONE: Duration = Duration::ZERO;
const NANOSECOND: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);
const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
const TOO_LONG: Duration = Duration::from_nanos(3_153_600_000_000_000_001);

/// Settings that are possible, with a window of calls.
const TEN: Settings = Settings::of_last(10).failures(5);

/// Settings that are possible, with a window of time.
const MINUTE: Settings = Settings::over(Duration::from_secs(60)).failures(5);

fn is_refused(settings: Settings, name: &str, text: &str) {
    let refused = Circuit::new(settings).expect_err(text);
    assert_eq!((refused.field(), refused.to_string().as_str()), (name, text));
    assert_eq!(settings.check(), Err(refused));
}

#[test]
fn the_windows_that_are_refused() {
    for (calls, text) in [
        (0, "window must be from 1 to 10000, got 0"),
        (10_001, "window must be from 1 to 10000, got 10001"),
        (u32::MAX, "window must be from 1 to 10000, got 4294967295"),
    ] {
        is_refused(Settings::of_last(calls).failures(1), "window", text);
        is_refused(Settings::consecutive(calls), "window", text);
    }
    for (time, text) in [
        (NONE, "window must be from 10ms to 100 years, got 0ns"),
        (Duration::from_nanos(9_999_999), "window must be from 10ms to 100 years, got 9.999999ms"),
        (TOO_LONG, "window must be from 10ms to 100 years, got 3153600000.000000001s"),
    ] {
        is_refused(Settings::over(time).failures(1), "window", text);
    }
}

#[test]
fn a_circuit_that_would_never_open_is_refused() {
    let text = "failures or slow_calls must be set, or the circuit would never open, got neither";
    is_refused(Settings::of_last(10), "failures", text);
    is_refused(Settings::over(SECOND), "failures", text);
}

#[test]
fn a_number_beside_a_rate_is_refused() {
    for (settings, name, other) in [
        (TEN.failure_rate(50), "failure_rate", "failures"),
        (MINUTE.failure_rate(50).failures(5), "failures", "failure_rate"),
        (TEN.slow_calls(SECOND, 5).slow_rate(SECOND, 50), "slow_rate", "slow_calls"),
        (TEN.slow_rate(SECOND, 50).slow_calls(SECOND, 5), "slow_calls", "slow_rate"),
    ] {
        is_refused(settings, name, &format!("{name} must not be set beside {other}, got both"));
    }
    TEN.failures(3).slow_rate(SECOND, 50).slow_rate(SECOND, 20).check().expect("a later number replaces an earlier");
}

#[test]
fn the_thresholds_that_are_refused() {
    for (settings, name, text) in [
        (TEN.failures(0), "failures", "failures must be from 1 to 10, got 0"),
        (TEN.failures(11), "failures", "failures must be from 1 to 10, got 11"),
        (MINUTE.failures(0), "failures", "failures must be at least 1, got 0"),
        (Settings::of_last(10).failure_rate(0), "failure_rate", "failure_rate must be from 1 to 100, got 0"),
        (Settings::over(SECOND).failure_rate(101), "failure_rate", "failure_rate must be from 1 to 100, got 101"),
        (TEN.slow_calls(SECOND, 0), "slow_calls", "slow_calls must be from 1 to 10, got 0"),
        (TEN.slow_calls(SECOND, 11), "slow_calls", "slow_calls must be from 1 to 10, got 11"),
        (MINUTE.slow_calls(SECOND, 0), "slow_calls", "slow_calls must be at least 1, got 0"),
        (MINUTE.slow_rate(SECOND, 0), "slow_rate", "slow_rate must be from 1 to 100, got 0"),
        (TEN.slow_rate(SECOND, 101), "slow_rate", "slow_rate must be from 1 to 100, got 101"),
        (TEN.min_calls(0), "min_calls", "min_calls must be from 1 to 10, got 0"),
        (TEN.min_calls(11), "min_calls", "min_calls must be from 1 to 10, got 11"),
        (MINUTE.min_calls(0), "min_calls", "min_calls must be at least 1, got 0"),
    ] {
        is_refused(settings, name, text);
    }
}

#[test]
fn the_numbers_of_probes_that_are_refused() {
    for (settings, name, text) in [
        (TEN.probes(0), "probes", "probes must be from 1 to 100, got 0"),
        (TEN.probes(101), "probes", "probes must be from 1 to 100, got 101"),
        (TEN.close_after(0), "close_after", "close_after must be from 1 to 10000, got 0"),
        (TEN.close_after(10_001), "close_after", "close_after must be from 1 to 10000, got 10001"),
        (TEN.reopen_after(0), "reopen_after", "reopen_after must be from 1 to 10000, got 0"),
        (TEN.reopen_after(10_001), "reopen_after", "reopen_after must be from 1 to 10000, got 10001"),
    ] {
        is_refused(settings, name, text);
    }
}

#[test]
fn the_times_that_are_refused() {
    for (time, text) in [(NONE, "0ns"), (TOO_LONG, "3153600000.000000001s")] {
        for (settings, name) in [
            (TEN.slow_calls(time, 5), "slow_after"),
            (MINUTE.slow_rate(time, 50), "slow_after"),
            (TEN.cool_down(time), "cool_down"),
            (TEN.probe_lease(time), "probe_lease"),
        ] {
            is_refused(settings, name, &format!("{name} must be from 1ns to 100 years, got {text}"));
        }
    }
    let name = "longest_cool_down";
    let text = "longest_cool_down must be from 30s to 100 years, got 29s";
    is_refused(TEN.longest_cool_down(Duration::from_secs(29)), name, text);
    let text = "longest_cool_down must be from 30s to 100 years, got 3153600000.000000001s";
    is_refused(TEN.longest_cool_down(TOO_LONG), name, text);
}

#[test]
fn the_limits_of_each_setting_are_possible() {
    let shortest = Settings::over(Duration::from_millis(10)).failures(u32::MAX).min_calls(u32::MAX);
    for settings in [
        Settings::default(),
        Settings::of_last(1).failures(1),
        Settings::consecutive(10_000),
        shortest,
        Settings::over(CENTURY).slow_calls(CENTURY, u32::MAX).cool_down(CENTURY).longest_cool_down(CENTURY),
        TEN.failures(10).slow_calls(NANOSECOND, 10).min_calls(10),
        Settings::of_last(10).failure_rate(1).slow_rate(NANOSECOND, 100).min_calls(1),
        Settings::of_last(10).failure_rate(100).slow_rate(SECOND, 1).longest_cool_down(Duration::from_secs(30)),
        TEN.probes(100).close_after(10_000).reopen_after(10_000).probe_lease(CENTURY),
        TEN.cool_down(NANOSECOND).longest_cool_down(NANOSECOND).probe_lease(NANOSECOND),
    ] {
        assert_eq!(settings.check(), Ok(()), "{settings:?}");
        assert_eq!(Circuit::new(settings).map(|circuit| *circuit.settings()), Ok(settings));
    }
}

#[test]
fn settings_can_be_read() {
    assert_eq!(Settings::default(), Settings::consecutive(5));
    assert_eq!((TEN.window_calls(), TEN.slow_after()), (Some(10), None));
    assert_eq!((MINUTE.window_calls(), MINUTE.slow_rate(SECOND, 50).slow_after()), (None, Some(SECOND)));
    assert_eq!(MINUTE.slow_calls(CENTURY, 50).slow_after(), Some(CENTURY));
}
