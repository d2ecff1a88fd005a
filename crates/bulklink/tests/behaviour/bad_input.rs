//! Invalid input is rejected with its field and value, and is not counted.

use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink::{Bulkhead, InvalidArgument, Limits, Partitions, Reason, Request, ResizeError};

use crate::{builder, bulkhead, executor, ms};

fn assert_names(invalid: &InvalidArgument, field: &str, value: &str) {
    assert_eq!((invalid.field(), invalid.value().to_string().as_str()), (field, value));
    let text = invalid.to_string();
    assert!(text.contains(field) && text.ends_with(&format!("got {value}")), "{text}");
}

#[test]
fn invalid_limits_are_rejected() {
    let executor = executor();
    let too_many = Limits::MAX + 1;
    let refused = |build: Result<_, InvalidArgument>| build.map(|_: Bulkhead<_>| ()).expect_err("the value is invalid");
    assert_names(&refused(builder(&executor).parallelism(0).build()), "parallelism", "0");
    assert_names(&refused(builder(&executor).capacity(0).build()), "capacity", "0");
    assert_names(&refused(builder(&executor).build()), "parallelism", "nothing");
    let text = refused(builder(&executor).parallelism(0).build()).to_string();
    assert_eq!(text, "bulkhead test: parallelism must be at least 1, got 0");
    assert_names(&refused(builder(&executor).parallelism(too_many).build()), "parallelism", &too_many.to_string());
    let room = builder(&executor).parallelism(1).waiting_room(too_many).build();
    assert_names(&refused(room), "waiting_room", &too_many.to_string());
    let limit = builder(&executor).parallelism(1).wait_limit(Duration::ZERO).build();
    assert_names(&refused(limit), "wait_limit", "0 s");
    builder(&executor)
        .parallelism(Limits::MAX)
        .waiting_room(Limits::MAX)
        .wait_limit(Duration::MAX)
        .build()
        .expect("valid");
}

#[test]
fn limits_that_cannot_be_meant_are_rejected() {
    let executor = executor();
    let roomless = builder(&executor).parallelism(1).wait_limit(Duration::from_millis(50)).build();
    let text = "bulkhead test: wait_limit must not be set without a waiting room, got 50 ms";
    assert_eq!(roomless.expect_err("no call can wait").to_string(), text);
    for both in [builder(&executor).parallelism(2).capacity(3), builder(&executor).capacity(3).parallelism(2)] {
        let text = "bulkhead test: capacity must not be set beside a parallelism of 2, got 3";
        assert_eq!(both.build().expect_err("which one").to_string(), text);
    }
    let bulkhead = builder(&executor).parallelism(4).parallelism(5).waiting_room(1).wait_limit(ms(50)).build();
    let bulkhead = bulkhead.expect("the later number counts");
    let before = bulkhead.limits();
    let roomless = before.with_capacity(0).with_waiting_room(0);
    let error = bulkhead.reconfigure(roomless).expect_err("no call can wait").to_string();
    let text = "bulkhead test: parallelism must be at least 1, got 0; \
                bulkhead test: wait_limit must not be set without a waiting room, got 50 ms";
    assert_eq!((error.as_str(), bulkhead.limits()), (text, before));
    bulkhead.reconfigure(before.with_waiting_room(0).with_wait_limit(None)).expect("both are gone");
}

#[test]
fn partitions_reject_a_wait_limit_without_a_waiting_room() {
    let clock = executor().clock();
    let builder = || Partitions::<u8, _>::builder_on(clock.clone(), "keys").parallelism(1).max_partitions(1);
    let text = "partitions keys: wait_limit must not be set without a waiting room, got 50 ms";
    assert_eq!(builder().wait_limit(ms(50)).build().expect_err("no call can wait").to_string(), text);
    let keys = builder().waiting_room(1).wait_limit(ms(50)).build().expect("valid");
    let before = keys.status().each;
    assert_eq!(keys.reconfigure(before.with_waiting_room(0)).expect_err("no call can wait").to_string(), text);
    assert_eq!(keys.status().each, before);
}

#[test]
fn labels_are_trimmed_and_invalid_ones_rejected() {
    let clock = executor().clock();
    for (label, shown) in [
        ("", "\"\""),
        (" \u{3000} ", "\" \\u{3000} \""),
        ("payments\n", "\"payments\\n\""),
        ("a\u{7f}", "\"a\\u{7f}\""),
    ] {
        let refused =
            Bulkhead::builder_on(clock.clone(), label).parallelism(1).build().expect_err("the label is invalid");
        assert_names(&refused, "label", shown);
    }
    let trimmed = Bulkhead::builder_on(clock, "  card payments ").parallelism(1).build().expect("the label is valid");
    assert_eq!(trimmed.label(), "card payments");
}

#[test]
fn a_label_with_control_or_invisible_characters_is_rejected() {
    let clock = executor().clock();
    for (label, shown) in [
        ("pay\u{2028}ments", r#""pay\u{2028}ments""#),
        ("pay\nments", r#""pay\nments""#),
        ("\u{1b}[2Jpayments", r#""\u{1b}[2Jpayments""#),
        ("pay\u{85}ments", r#""pay\u{85}ments""#),
        ("pay\u{2029}ments", r#""pay\u{2029}ments""#),
        ("pay\u{202e}stnem", r#""pay\u{202e}stnem""#),
        ("pay\u{2066}ments", r#""pay\u{2066}ments""#),
        ("pay\u{200b}ments", r#""pay\u{200b}ments""#),
        ("pay\u{200d}ments", r#""pay\u{200d}ments""#),
        ("payments\u{feff}", r#""payments\u{feff}""#),
        ("pay\u{a0}ments", r#""pay\u{a0}ments""#),
        // A combining mark without a base character, also where trimming removed the base.
        ("\u{301}payments", r#""\u{301}payments""#),
        (" \u{301}payments", r#""\u{301}payments""#),
    ] {
        let built = Bulkhead::builder_on(clock.clone(), label).parallelism(1).build();
        assert_unreadable(&built.expect_err(shown), shown);
        let built = Partitions::<u8, _>::builder_on(clock.clone(), label).parallelism(1).max_partitions(1).build();
        assert_unreadable(&built.expect_err(shown), shown);
    }
}

fn assert_unreadable(refused: &InvalidArgument, shown: &str) {
    assert_names(refused, "label", shown);
    let text = refused.to_string();
    assert_eq!(text, format!("label must not hold control or invisible characters, got {shown}"));
}

#[test]
fn a_label_may_contain_any_letters_marks_quotes_and_backslashes() {
    let clock = executor().clock();
    for label in ["Zürich", "Zu\u{308}rich", "支払い", "платежи", "a \"b\" 'c' \\d", "\"", "\u{2764}\u{fe0f}"]
    {
        let bulkhead = Bulkhead::builder_on(clock.clone(), label).parallelism(1).build().expect(label);
        assert_eq!(bulkhead.label(), label);
        bulkhead.close();
        assert!(bulkhead.try_slot().expect_err("closed").to_string().starts_with(&format!("bulkhead {label}: ")));
    }
}

#[test]
fn invalid_costs_are_rejected_and_not_counted() {
    let executor = executor();
    let bulkhead = builder(&executor).capacity(5).build().expect("valid");
    let before = bulkhead.status();
    for cost in [0, 6, Limits::MAX + 1] {
        let rejection = bulkhead.with(Request::new().cost(cost)).try_slot().expect_err("impossible");
        assert_eq!(rejection.reason(), Reason::InvalidCost);
        assert_names(
            rejection.as_invalid().expect("the rejection has the invalid argument"),
            "cost",
            &cost.to_string(),
        );
        let text = rejection.to_string();
        assert_eq!(text, format!("bulkhead test: cost must be from 1 to the capacity, 5, got {cost}"));
    }
    assert!(!bulkhead.status().since(&before).expect("of the same bulkhead").has_activity(), "not counted");
}

#[test]
fn an_invalid_cost_comes_after_closed_and_before_past_deadline() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let past = Request::new().cost(2).before(bulklink::runtime::Instant::EPOCH);
    assert_eq!(bulkhead.with(past).try_slot().expect_err("impossible").reason(), Reason::InvalidCost);
    bulkhead.close();
    assert_eq!(bulkhead.with(past).try_slot().expect_err("closed").reason(), Reason::Closed);
    assert_eq!(bulkhead.status().totals.closed_before_queue, 1);
}

/// The bulkhead is full, where a plain request is rejected without the lock.
#[test]
fn an_invalid_cost_or_past_deadline_comes_before_saturated() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let _running = bulkhead.try_slot().expect("free");
    let reason = |request| bulkhead.with(request).try_slot().expect_err("full").reason();
    assert_eq!([0, 2].map(|cost| reason(Request::new().cost(cost))), [Reason::InvalidCost; 2]);
    assert_eq!(reason(Request::new().before(Instant::EPOCH)), Reason::Expired);
    assert_eq!(reason(Request::new()), Reason::Saturated);
    let totals = bulkhead.status().totals;
    assert_eq!((totals.rejected(), totals.saturated, totals.expired_before_queue), (2, 1, 1));
}

#[test]
fn invalid_capacities_are_rejected_by_resize() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    for capacity in [0, Limits::MAX + 1] {
        let Err(ResizeError::Invalid(invalid)) = bulkhead.resize(capacity) else { panic!("the value is invalid") };
        assert_names(&invalid, "parallelism", &capacity.to_string());
    }
    assert_eq!(bulkhead.status().limits.capacity, 1);
}
