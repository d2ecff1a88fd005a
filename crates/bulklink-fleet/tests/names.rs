//! Names and ids, and their texts.

use bulklink_fleet::{InvalidId, InvalidName, Name, Namespace, ProcessId};

fn name(label: &str) -> Result<Name, InvalidName> {
    Name::new(&Namespace::new("prod").unwrap(), label)
}

#[test]
fn a_label_is_escaped_so_that_no_byte_means_something_in_a_key() {
    for (label, text) in [
        ("payments", "prod:payments"),
        (" a b\n", "prod:a%20b"),
        ("{a}:*?[x]", "prod:%7Ba%7D%3A%2A%3F%5Bx%5D"),
        ("100%", "prod:100%25"),
        ("ü", "prod:%C3%BC"),
        ("a\0\r\n$b", "prod:a%00%0D%0A%24b"),
    ] {
        let name = name(label).unwrap();
        assert_eq!((name.as_str(), name.namespace()), (text, "prod"));
        assert_eq!(name.label(), label.trim());
    }
}

#[test]
fn two_labels_never_share_a_name() {
    let labels = ["a b", "a%20b", "a%2520b", "a:b", "a_b", "A b", "a.b", "a-b"];
    let names = labels.map(|label| name(label).unwrap());
    assert!((0..names.len()).all(|at| !names[..at].contains(&names[at])), "{names:?}");
}

#[test]
fn a_name_that_is_empty_or_too_long_is_refused() {
    assert_eq!(name(" \t"), Err(InvalidName::Empty));
    assert!(name(&"a".repeat(200)).is_ok());
    assert_eq!(name(&"a".repeat(201)), Err(InvalidName::TooLong { bytes: 201, max: 200 }));
    assert_eq!(name(&" ".repeat(67).replace(' ', ":")), Err(InvalidName::TooLong { bytes: 201, max: 200 }));
}

#[test]
fn a_namespace_is_plain() {
    assert!(Namespace::new("eu-1.prod_2").is_ok());
    assert!(Namespace::new(&"a".repeat(64)).is_ok());
    assert_eq!(Namespace::new(&"a".repeat(65)), Err(InvalidName::TooLong { bytes: 65, max: 64 }));
    assert_eq!(Namespace::new(""), Err(InvalidName::Empty));
    for (text, byte) in [("a b", b' '), ("a:b", b':'), ("{a", b'{'), ("ä", 0xC3), ("a%", b'%')] {
        assert_eq!(Namespace::new(text), Err(InvalidName::Byte(byte)));
    }
}

#[test]
fn an_identity_is_read_from_its_text() {
    for bits in [0, 1, 63, 64, u128::MAX, u128::MAX >> 1, 0x0123_4567_89AB_CDEF << 61] {
        let process = ProcessId::from(bits);
        assert_eq!((process.to_string().len(), process.to_string().parse()), (22, Ok(process)));
    }
}

#[test]
fn other_texts_are_no_ids() {
    let process = ProcessId::from(5).to_string();
    for bad in ["", "x", &process[1..], &format!("{process}-"), &"z".repeat(22), &" ".repeat(22), &"ü".repeat(11)] {
        assert_eq!(bad.parse::<ProcessId>(), Err(InvalidId), "{bad}");
    }
}

#[test]
fn ids_are_ordered_as_their_texts() {
    let mut by_id = [u128::MAX, 1 << 70, 64, 40, 1, 0].map(ProcessId::from);
    let mut by_text = by_id;
    by_id.sort();
    by_text.sort_by_key(ToString::to_string);
    assert_eq!(by_id, by_text);
}

#[test]
fn only_the_text_of_a_name_is_read_as_one() {
    let namespace = Namespace::new("prod").unwrap();
    for label in ["payments", "card payments", "%", "a}{b*", "ü", "a:b"] {
        let name = Name::new(&namespace, label).unwrap();
        assert_eq!(name.as_str().parse(), Ok(name), "{label}");
    }
    for text in [
        "",
        "prod",
        ":a",
        "prod:",
        "prod:a b",
        "prod:%",
        "prod:%2",
        "prod:%2g",
        "prod:%2f",
        "prod:%61",
        "prod:%20a",
        "prod:%FF",
        "prod:%%41",
        "prod:a:b",
        "prod:%ü",
        "p d:a",
    ] {
        assert!(text.parse::<Name>().is_err(), "{text}");
    }
}
