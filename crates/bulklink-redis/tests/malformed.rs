//! Replies of any form: those of the scripts are understood, and all others are errors.

use std::time::Duration;

use bulklink_redis::plumbing::{Call, Script, answer, call, notice};
use bulklink_redis::{
    Answer, CallId, Command, Epoch, Era, Notice, Outcome, OwnerId, RunId, StoreError, Terms, Ticket, Token,
};
use proptest::collection::vec;
use proptest::prelude::*;
use redis::{PushKind, Value};

const ID: &str = "---------------------1:7:2";

fn id() -> CallId {
    CallId { owner: OwnerId::from(2), seq: 7, cost: 2 }
}

fn terms() -> Terms {
    Terms { ttl: Duration::from_secs(10), claim: Duration::from_secs(3), block: 5 }
}

/// One command for each script.
fn commands() -> [Command; 8] {
    let era = Era { epoch: Epoch::from(50), run: Some(RunId::from(0xab)) };
    let (owner, info) = (OwnerId::from(2), "host/1/program".into());
    [
        Command::Open {
            owner,
            generation: 4,
            limit: 10,
            config: 6,
            terms: terms(),
            known: Some(Epoch::from(50)),
            highest: Some(Token::from(60)),
            run: None,
            young: true,
            info,
        },
        Command::Acquire { id: id(), wait: true, queue: 9, era, terms: terms(), give_back: vec![id()] },
        Command::Release { ids: vec![id()] },
        Command::Beat {
            owner,
            generation: 4,
            era,
            terms: terms(),
            info: "a".into(),
            leases: vec![id()],
            waiters: vec![(id(), Ticket::from(51))],
            gone: vec![id()],
        },
        Command::Reap { full: true, offset: 3 },
        Command::SetLimit { limit: 8, expected: 2.into() },
        Command::Close { owner, ids: vec![id()] },
        Command::Status { offset: 10, count: 5 },
    ]
}

#[test]
fn each_command_is_the_call_of_its_script() {
    let owner = "---------------------1";
    let [ttl, claim, run] = ["10000000", "3000000", "00000000000000ab"];
    let expected: [(_, &[&str]); 8] = [
        (Script::Open, &[owner, "4", "10", "6", ttl, claim, "5", "50", "60", "-", "1", claim, "host/1/program"]),
        (Script::Acquire, &[ID, "2", "w", "9", "50", run, ttl, claim, "5", ID]),
        (Script::Release, &[ID]),
        (Script::Beat, &[owner, "4", "50", run, ttl, claim, "a", "1", "1", ID, ID, "51", ID]),
        (Script::Reap, &["1", "3"]),
        (Script::SetLimit, &["8", "2"]),
        (Script::Close, &[owner, ID]),
        (Script::Status, &["10", "14"]),
    ];
    for (command, (script, arguments)) in commands().iter().zip(expected) {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(call(command), Ok(Call { script, arguments }));
    }
}

fn text(text: &str) -> Value {
    Value::BulkString(text.into())
}

fn texts(list: &[&str]) -> Value {
    Value::Array(list.iter().map(|one| text(one)).collect())
}

/// A reply with a head.
fn reply(code: i64, a: i64, b: i64, further: &[Value]) -> Value {
    let head = [code, 100, 0, 10, 2, 3, 4, a, b, 1].map(Value::Int);
    let mut values = [&head, further].concat();
    values[2] = text("50");
    Value::Array(values)
}

/// Replies as the scripts give them, to the commands of these numbers.
fn replies() -> Vec<(usize, Value, Outcome)> {
    let beat = [texts(&[ID]), texts(&[ID, "61"]), Value::Int(90)];
    let beaten = Outcome::Beaten {
        first_expiry: 70.into(),
        owners: 2,
        lost: vec![id()],
        granted: vec![(id(), 61.into())],
        quarantine: 90.into(),
    };
    let second = Duration::from_secs(1);
    vec![
        (0, reply(0, 0, 0, &[]), Outcome::Stale),
        (0, reply(1, 90, 2, &[]), Outcome::Opened { quarantine: 90.into(), owners: 2 }),
        (0, reply(7, 20, 1, &[]), Outcome::LimitConflict { limit: 20, config: 1 }),
        (0, reply(8, 1_000_000, 2_000_000, &[]), Outcome::TermsConflict { ttl: second, claim: 2 * second }),
        (0, reply(8, 0, 0, &[]), Outcome::RecoveryConflict),
        (1, reply(1, 61, 0, &[]), Outcome::Granted { token: 61.into() }),
        (
            1,
            reply(2, 51, 70, &[Value::Int(3)]),
            Outcome::Queued { ticket: 51.into(), first_expiry: 70.into(), position: 3 },
        ),
        (1, reply(3, 70, 0, &[]), Outcome::Saturated { first_expiry: 70.into() }),
        (1, reply(4, 70, 0, &[]), Outcome::QueueFull { first_expiry: 70.into() }),
        (1, reply(5, 90, 0, &[]), Outcome::Recovering { until: 90.into() }),
        (1, reply(6, 0, 0, &[]), Outcome::TooLarge),
        (2, reply(1, 0, 0, &[]), Outcome::Done),
        (3, reply(1, 70, 2, &beat), beaten),
        (3, reply(9, 0, 0, &[]), Outcome::OldGeneration),
        (4, reply(1, 5, 6, &[Value::Int(7)]), Outcome::Reaped { freed: 5, dropped: 6, next: 7 }),
        (5, reply(7, 10, 2, &[]), Outcome::VersionConflict),
        (6, reply(1, 0, 0, &[]), Outcome::Done),
    ]
}

#[test]
fn each_reply_of_a_script_is_understood() {
    let commands = commands();
    for (number, reply, outcome) in replies() {
        let decoded = answer(&commands[number], &reply).unwrap();
        let head = decoded.head.unwrap();
        assert_eq!((decoded.outcome, head.now, head.epoch), (outcome, 100.into(), Some(Epoch::from(50))));
        let figures = (head.limit, u64::from(head.version), head.used, head.waiting, head.more);
        assert_eq!(figures, (10, 2, 3, 4, true));
    }
    for (number, value, outcome) in [(1, 61, Outcome::Granted { token: 61.into() }), (2, 1, Outcome::Done)] {
        assert_eq!(answer(&commands[number], &Value::Int(value)), Ok(Answer { outcome, head: None }));
    }
    for (number, value) in [(1, -1), (2, 2), (2, 0), (6, 1), (7, 1)] {
        assert_eq!(answer(&commands[number], &Value::Int(value)), Err(StoreError::Malformed), "{number}: {value}");
    }
}

#[test]
fn a_reply_that_is_shorter_or_longer_is_malformed() {
    let commands = commands();
    for (number, reply, outcome) in replies() {
        let Value::Array(values) = reply else { unreachable!() };
        for length in 0..values.len() {
            let cut = Value::Array(values[..length].to_vec());
            assert_eq!(answer(&commands[number], &cut), Err(StoreError::Malformed), "{outcome:?} of {length}");
        }
        let longer = Value::Array([values, vec![Value::Int(0)]].concat());
        assert_eq!(answer(&commands[number], &longer), Err(StoreError::Malformed), "{outcome:?}");
    }
}

#[test]
fn notices_are_understood() {
    let granted = Notice::Granted { id: id(), token: 61.into(), epoch: 50.into() };
    assert_eq!(notice(format!("g {ID} 61 50").as_bytes()), Ok(granted));
    assert_eq!(notice(format!("x {ID}").as_bytes()), Ok(Notice::TooLarge { id: id() }));
    for bad in ["", "g", "x", &format!("g {ID} 61"), &format!("g {ID} 61 50 1"), &format!("x {ID} "), "x a:1:1", "r"] {
        assert_eq!(notice(bad.as_bytes()), Err(StoreError::Malformed), "{bad}");
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
        (0_i64..10).prop_map(Value::Int),
        vec(any::<u8>(), 0..40).prop_map(Value::BulkString),
        "[-:.0-9a ]{0,30}".prop_map(Value::SimpleString),
        Just(text(ID)),
        Just(text("18446744073709551616")),
        Just(text("-1")),
        Just(text("")),
    ];
    leaf.prop_recursive(3, 64, 14, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 0..14).prop_map(Value::Array),
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
        for command in commands() {
            if let Ok(decoded) = answer(&command, &value) {
                prop_assert!(matches!(value, Value::Array(_) | Value::Int(_)), "{decoded:?}");
            }
        }
    }

    #[test]
    fn a_reply_with_any_other_part_is_malformed_or_has_the_same_form(
        place in any::<proptest::sample::Index>(),
        at in any::<proptest::sample::Index>(),
        other in values(),
    ) {
        let (commands, replies) = (commands(), replies());
        let (number, reply, outcome) = place.get(&replies);
        let Value::Array(mut values) = reply.clone() else { unreachable!() };
        let at = at.index(values.len());
        let is_text = at == 2;
        values[at] = other.clone();
        if let Ok(decoded) = answer(&commands[*number], &Value::Array(values)) {
            let fits = match other {
                Value::Int(number) => number >= 0 && !is_text,
                Value::Array(_) => matches!(outcome, Outcome::Beaten { .. }) && (10..12).contains(&at),
                _ => is_text,
            };
            prop_assert!(fits, "{at} {other:?}: {decoded:?}");
        }
    }

    #[test]
    fn no_state_panics(at in any::<proptest::sample::Index>(), other in values(), inner in any::<bool>()) {
        let owners = "---------------------1";
        let settings = texts(&["50", "10", "10", "6", "2", "0", "1", "10000000", "3000000", "5", "60", "51", "-"]);
        let [calls, sessions] = [ID, owners].map(|key| texts(&[key, "70"]));
        let mut state = vec![Value::Int(100), settings, Value::Int(1), Value::Int(1), Value::Int(0)];
        state.extend([calls.clone(), calls, sessions, texts(&["4 host/1/program"])]);
        let status = &commands()[7];
        prop_assert!(answer(status, &Value::Array(state.clone())).is_ok());
        let place = at.index(state.len());
        match &mut state[place] {
            Value::Array(list) if inner => { let place = at.index(list.len()); list[place] = other },
            value => *value = other,
        }
        let _ = answer(status, &Value::Array(state));
    }

    #[test]
    fn no_notice_panics(message in vec(any::<u8>(), 0..60), words in "[gx] [-:0-9a-z ]{0,50}") {
        let _ = (notice(&message), notice(words.as_bytes()));
    }
}
