//! The core decides and does nothing else: it knows no waker, no standard library, no clock and no atomics.

use std::iter::repeat;

use crate::tidy::Finding;
use crate::tidy::tokens::find;
use crate::tidy::tree::{File, Tree};

const RULE: &str = "pure-core";

const FOLDER: &str = "crates/bulklink-core/src/";

const FORBIDDEN: &[(&[&str], &str)] = &[
    (&["Waker"], "the core wakes nobody; it hands out what its caller parked"),
    (&["std", ":", ":"], "the core is no_std; take it from core or alloc"),
    (&["crate", "std"], "the core is no_std; take it from core or alloc"),
    (&["Instant", ":", ":", "now"], "the core reads no clock; time is an argument"),
    (&["atomic"], ATOMICS),
];

const ATOMICS: &str = "the core shares nothing; its word is a plain integer";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let core = tree.sources().filter(|file| file.path.starts_with(FOLDER));
    core.flat_map(forbidden).collect()
}

fn forbidden(file: &File) -> Vec<Finding> {
    let places = FORBIDDEN.iter().flat_map(|(words, text)| find(&file.tokens, words).into_iter().zip(repeat(*text)));
    let types = file.tokens.iter().filter(|token| token.text.starts_with("Atomic")).zip(repeat(ATOMICS));
    places.chain(types).map(|(token, text)| file.finding(token.line, RULE, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    const IN_CORE: &str = "crates/bulklink-core/src/a.rs";

    #[test]
    fn whatever_the_core_must_not_know_is_found() {
        for bad in [
            "use core::task::Waker;",
            "fn f() -> std::time::Duration { g() }",
            "use std::*;",
            "extern crate std;",
            "fn f() { let now = Instant::now(); }",
            "use core::sync::{atomic, Exclusive};",
            "struct A(AtomicUsize);",
        ] {
            assert_eq!(lines(check, IN_CORE, &format!("//! A.\n{bad}\n")), [2], "{bad}");
        }
    }

    #[test]
    fn its_own_instant_and_the_feature_std_pass() {
        let good = "#[cfg(feature = \"std\")]\nfn f(now: Instant) { Instant::from_nanos(1); }\n";
        assert_eq!(lines(check, IN_CORE, good), []);
    }

    #[test]
    fn other_crates_and_the_tests_of_the_core_may_use_all_of_it() {
        let text = "use std::task::Waker;";
        assert_eq!(lines(check, "crates/bulklink/src/a.rs", text), []);
        assert_eq!(lines(check, "crates/bulklink-core/tests/a.rs", text), []);
    }
}
