//! The sections that a program requires, and the place of a configuration in a larger one.

use std::collections::BTreeMap;

use bulklink::config::{Config, require};

#[test]
fn sections_that_the_program_needs_are_required_by_label() {
    let mut config = Config::default();
    config.bulkheads.entry(" payments ".into()).or_default().parallelism = Some(1);
    let tenants = config.partitions.entry("tenants".into()).or_default();
    (tenants.parallelism, tenants.max_partitions) = (Some(1), Some(1));
    config.require(&["payments"], &["tenants"]).expect("both are there");
    config.require(&[], &[]).expect("nothing is required");
    assert_eq!(
        problems(&config, &["logs", "payments", "reports"], &["users"]),
        ["bulkheads.logs", "bulkheads.reports", "partitions.users"].map(|path| format!("{path} must be there"))
    );
    config.bulkheads.entry("payments".into()).or_default().parallelism = Some(0);
    let range = "bulkheads.payments.parallelism must be from 1 to 2147483647, got 0";
    let label = "bulkheads.payments must have another label, as bulkheads.\" payments \" has this one";
    assert_eq!(problems(&config, &["logs"], &[]), ["bulkheads.logs must be there", label, range]);
}

#[test]
fn beside_a_missing_section_stands_the_one_that_may_be_a_misspelling_of_it() {
    let mut config = Config::default();
    for label in ["serach", "search-2", "Orders", "digest", "expor"] {
        config.bulkheads.entry(label.into()).or_default().parallelism = Some(1);
    }
    for label in ["tenants", "exprt"] {
        let set = config.partitions.entry(label.into()).or_default();
        (set.parallelism, set.max_partitions) = (Some(1), Some(1));
    }
    let maybe = |missing: &str, there: &str| format!("{missing} must be there (is it {there}, which is not required?)");
    assert_eq!(
        problems(&config, &["search", "orders", "tenants", "digests", "cart"], &["digest", "export"]),
        [
            maybe("bulkheads.search", "bulkheads.serach"),
            maybe("bulkheads.orders", "bulkheads.Orders"),
            maybe("bulkheads.tenants", "partitions.tenants"),
            maybe("bulkheads.digests", "bulkheads.digest"),
            "bulkheads.cart must be there".into(),
            maybe("partitions.digest", "bulkheads.digest"),
            // Rather one of the same table.
            maybe("partitions.export", "partitions.exprt"),
        ]
    );
    // A section that is required itself is no misspelling.
    assert_eq!(problems(&config, &["digests", "digest"], &[]), ["bulkheads.digests must be there"]);
}

fn problems(config: &Config, bulkheads: &[&str], partitions: &[&str]) -> Vec<String> {
    let error = config.require(bulkheads, partitions).unwrap_err();
    error.problems().iter().map(ToString::to_string).collect()
}

/// As those of breakers and of shares.
#[test]
fn sections_of_any_kind_are_required_alike() {
    let sections: BTreeMap<_, _> = ["serach", " b ", "c.d"].into_iter().map(|label| (label.to_owned(), 1)).collect();
    assert_eq!(require("breakers", &sections, &["b", " c.d "]), Ok(()));
    assert_eq!(
        require("a.shares", &sections, &["search", "c.e", "b"]).unwrap_err().to_string(),
        "a.shares.search must be there (is it a.shares.serach, which is not required?); \
         a.shares.\"c.e\" must be there (is it a.shares.\"c.d\", which is not required?)"
    );
}
