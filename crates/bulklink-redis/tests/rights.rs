//! The rights that the documentation lists are those that the tests of links use.

use bulklink_servers::User;

#[test]
fn the_documented_rights_are_those_that_are_tested() {
    let page = include_str!("../src/lib.rs");
    let listed = page.split("```text").nth(1).unwrap().split("```").next().unwrap().replace("//!", "");
    let sorted = |text: &str| {
        let mut rules: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        rules.sort();
        rules
    };
    assert_eq!(sorted(&listed), sorted(&User::service("prod").rules));
}
