//! Replies of any form: those of the scripts are understood, and all others are errors.

use std::time::Duration;

use bulklink_fleet::share::{
    Answer, Conflict, Declaration, Difference, Grant, LimitRefusal, Notice, Refusal, Reply, Statement, Terms,
};
use bulklink_fleet::{Epoch, RunId, Token};
use bulklink_redis::plumbing::{Call, Script, look, notice, reply, resize, resized, state, sync};
use bulklink_redis::{ProcessId, StoreError};
use proptest::collection::vec;
use proptest::prelude::*;
use redis::{PushKind, Value};

const PROCESS: &str = "---------------------1";

fn statement() -> Statement {
    let terms = Terms {
        lease: Duration::from_secs(10),
        claim: Duration::from_secs(3),
        calm: Duration::from_millis(20),
        recovers: true,
    };
    Statement {
        process: ProcessId::from(2),
        seq: 7,
        declaration: Declaration { config: 6, limit: 10, terms },
        epoch: Some(Epoch::from(50)),
        run: Some(RunId::from(0xab)),
        is_young: true,
        // A day counts.
        longest: Duration::MAX,
        token: Token::from(60),
        keep: 1,
        need: 2,
        least: 5,
        spare: 3,
        weight: 4,
    }
}

#[test]
fn each_command_is_the_call_of_its_script() {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let declared = ["6", "10", "10000000", "3000000", "20000", "1"];
    let condition = ["50", "00000000000000ab", "1", "86400000000", "60", "1", "2", "5", "3", "4"];
    let arguments = texts(&[&[PROCESS, "7"][..], &declared, &condition].concat());
    assert_eq!(sync(&statement()), Call { script: Script::Sync, arguments });
    let without = Statement { epoch: None, run: None, is_young: false, ..statement() };
    assert_eq!(sync(&without).arguments[8..11], ["0", "-", "0"]);
    assert_eq!(resize(8, 2.into()), Call { script: Script::Resize, arguments: texts(&["8", "2"]) });
    assert_eq!(look(), Call { script: Script::Look, arguments: vec![] });
}

fn text(text: &str) -> Value {
    Value::BulkString(text.into())
}

fn numbers(numbers: &[i64]) -> Vec<Value> {
    numbers.iter().copied().map(Value::Int).collect()
}

/// Replies as the script gives them to the statement.
fn replies() -> Vec<(Vec<Value>, Answer)> {
    let grant = Grant {
        process: ProcessId::from(2),
        seq: 7,
        serial: 61.into(),
        units: 5,
        valid: Duration::from_secs(10),
        token: 62.into(),
        epoch: 50.into(),
        level: Some(3.into()),
    };
    let full = Reply {
        grant,
        due: Some(Duration::from_millis(2)),
        quarantine: Duration::from_millis(3),
        longest: Duration::from_secs(11),
        limit: 10,
        version: 2.into(),
        processes: 8,
        weights: 9,
    };
    let bare = Reply { grant: Grant { level: None, ..grant }, due: None, ..full };
    let terms = Terms {
        lease: Duration::from_secs(10),
        claim: Duration::from_secs(4),
        calm: Duration::from_millis(20),
        recovers: true,
    };
    let conflict = Conflict {
        fleet: Declaration { config: 6, limit: 10, terms }.into(),
        declarer: ProcessId::from(2),
        difference: Difference::Claim { own: Duration::from_secs(3), fleet: Duration::from_secs(4) },
    };
    let mut conflicting = numbers(&[8, 0, 10, 10_000_000, 4_000_000, 20_000, 1]);
    conflicting[1] = text(PROCESS);
    vec![
        (numbers(&[1, 61, 5, 10_000_000, 62, 50, 3, 2_000, 3_000, 11_000_000, 10, 2, 8, 9]), Ok(full)),
        (numbers(&[1, 61, 5, 10_000_000, 62, 50, -1, -1, 3_000, 11_000_000, 10, 2, 8, 9]), Ok(bare)),
        (numbers(&[9]), Err(Refusal::Stale)),
        (conflicting, Err(Refusal::Conflict(conflict))),
    ]
}

#[test]
fn each_reply_of_a_script_is_understood() {
    for (values, answer) in replies() {
        assert_eq!(reply(&statement(), &Value::Array(values)), Ok(answer));
    }
    let of = |values: &[i64]| resized(&Value::Array(numbers(values)));
    assert_eq!(of(&[1, 3]), Ok(Ok(3.into())));
    assert_eq!(of(&[0]), Ok(Err(LimitRefusal::Absent)));
    assert_eq!(of(&[7, 10, 2]), Ok(Err(LimitRefusal::Version { current: 2.into(), limit: 10 })));
    for bad in [&[][..], &[1], &[1, -3], &[1, 3, 4], &[0, 0], &[7, 10], &[7, 1 << 40, 2], &[2, 2]] {
        assert_eq!(of(bad), Err(StoreError::MALFORMED), "{bad:?}");
    }
}

#[test]
fn a_reply_that_is_shorter_or_longer_is_malformed() {
    for (values, answer) in replies() {
        for length in 0..values.len() {
            let cut = Value::Array(values[..length].to_vec());
            assert_eq!(reply(&statement(), &cut), Err(StoreError::MALFORMED), "{answer:?} of {length}");
        }
        let longer = Value::Array([values, numbers(&[0])].concat());
        assert_eq!(reply(&statement(), &longer), Err(StoreError::MALFORMED), "{answer:?}");
    }
    // The values of the fleet are those of the process.
    let (mut values, _) = replies().pop().unwrap();
    values[4] = Value::Int(3_000_000);
    assert_eq!(reply(&statement(), &Value::Array(values)), Err(StoreError::MALFORMED));
}

#[test]
fn notices_are_understood() {
    let process = ProcessId::from(2);
    let grant = Grant {
        process,
        seq: 7,
        serial: 61.into(),
        units: 5,
        valid: Duration::from_secs(3),
        token: 62.into(),
        epoch: 50.into(),
        level: None,
    };
    assert_eq!(notice(process, b"s 7 61 5 3000000 62 50 -1"), Ok(Notice::Granted(grant)));
    let leveled = Grant { level: Some(4.into()), ..grant };
    assert_eq!(notice(process, b"s 7 61 5 3000000 62 50 4"), Ok(Notice::Granted(leveled)));
    assert_eq!(notice(process, b"t 4"), Ok(Notice::Tight(4.into())));
    for bad in ["", "s", "t", "t -1", "t 4 5", "t 4294967296", "s 7 61 5 3000000 62 50", "s 7 61 -5 3000000 62 50 4"] {
        assert_eq!(notice(process, bad.as_bytes()), Err(StoreError::MALFORMED), "{bad}");
    }
}

/// Any value, with texts and numbers that a reply may have among them.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        Just(Value::Okay),
        any::<bool>().prop_map(Value::Boolean),
        any::<f64>().prop_map(Value::Double),
        any::<i64>().prop_map(Value::Int),
        (-1_i64..10).prop_map(Value::Int),
        vec(any::<u8>(), 0..40).prop_map(Value::BulkString),
        "[-:.0-9a ]{0,30}".prop_map(Value::SimpleString),
        Just(text(PROCESS)),
        Just(text("18446744073709551616")),
        Just(text("-1")),
        Just(text("")),
    ];
    leaf.prop_recursive(3, 64, 14, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 0..15).prop_map(Value::Array),
            1 => vec(inner.clone(), 0..4).prop_map(Value::Set),
            1 => vec((inner.clone(), inner.clone()), 0..4).prop_map(Value::Map),
            1 => vec(inner, 0..4).prop_map(|data| Value::Push { kind: PushKind::SMessage, data }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_reply_panics(value in values()) {
        let is_array = matches!(value, Value::Array(_));
        prop_assert!(reply(&statement(), &value).is_err() || is_array);
        prop_assert!(resized(&value).is_err() || is_array);
        prop_assert!(state(&value).is_err() || is_array);
    }

    #[test]
    fn a_reply_with_any_other_part_is_malformed_or_has_the_same_form(
        place in any::<proptest::sample::Index>(),
        at in any::<proptest::sample::Index>(),
        other in values(),
    ) {
        let replies = replies();
        let (values, answer) = place.get(&replies);
        let mut values = values.clone();
        let at = at.index(values.len());
        let is_text = answer.is_err() && at == 1;
        values[at] = other.clone();
        if let Ok(decoded) = reply(&statement(), &Value::Array(values)) {
            let fits = match other {
                Value::Int(number) => (number >= 0 || number == -1 && [6, 7].contains(&at)) && !is_text,
                _ => is_text,
            };
            prop_assert!(fits, "{at} {other:?}: {decoded:?}");
        }
    }

    #[test]
    fn no_notice_panics(message in vec(any::<u8>(), 0..60), words in "[st] [-:0-9a-z ]{0,50}") {
        let process = ProcessId::from(2);
        let _ = (notice(process, &message), notice(process, words.as_bytes()));
    }
}
