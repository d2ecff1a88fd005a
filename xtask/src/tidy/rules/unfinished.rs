//! Nothing is left for later: no `todo!`, no `unimplemented!`, no ignored test that doesn't say why.

use crate::tidy::Finding;
use crate::tidy::tokens::{Token, find};
use crate::tidy::tree::{File, Tree};

const RULE: &str = "unfinished";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources().flat_map(|file| placeholders(file).chain(ignored(file))).collect()
}

fn placeholders(file: &File) -> impl Iterator<Item = Finding> {
    // With the delimiter, because `todo != 0` is no macro.
    let patterns = ["todo", "unimplemented"].into_iter().flat_map(|name| ["(", "[", "{"].map(|open| [name, "!", open]));
    let found = patterns.flat_map(|pattern| find(&file.tokens, &pattern));
    found.map(|token| file.finding(token.line, RULE, format!("`{}!` is left", token.text)))
}

fn ignored(file: &File) -> impl Iterator<Item = Finding> {
    let ignores = attributes(&file.tokens).filter_map(ignore_without_reason);
    ignores.map(|token| file.finding(token.line, RULE, "say why: `#[ignore = \"…\"]`"))
}

/// What stands between the brackets of each attribute. None that ignores a test has brackets within.
fn attributes(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let behind = tokens.split(|token| token.text == "#").filter_map(|rest| rest.split_first());
    behind.filter(|(open, _)| open.text == "[").filter_map(|(_, rest)| rest.split(|token| token.text == "]").next())
}

fn ignore_without_reason(attribute: &[Token]) -> Option<&Token> {
    let text = |at: usize| attribute.get(at).map_or("", |token| &token.text);
    let at = attribute.iter().position(|token| token.text == "ignore")?;
    let is_ignore = at == 0 || text(0) == "cfg_attr";
    let has_reason = text(at + 1) == "=" && text(at + 2) != "\"\"";
    (is_ignore && !has_reason).then(|| &attribute[at])
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    #[test]
    fn placeholders_and_silent_ignores_are_found() {
        for bad in [
            "fn f() { todo!() }",
            "fn f() { unimplemented!{\"later\"} }",
            "#[ignore] fn f() {}",
            "#[ignore = \"\"] fn f() {}",
            "#[cfg_attr(miri, ignore)] fn f() {}",
        ] {
            assert_eq!(lines(check, "tests/a.rs", &format!("//! A.\n{bad}\n")), [2], "{bad}");
        }
    }

    #[test]
    fn reasons_and_look_alikes_pass() {
        for good in [
            "#[ignore = \"needs a server\"] fn f() {}",
            "#[cfg_attr(miri, ignore = \"slow\")] fn f() {}",
            "fn f(todo: u8) -> bool { todo != 0 }",
            "fn f(a: [u8; 1], ignore: u8) { g(ignore) } // todo!()",
            "#[cfg_attr(miri, inline)] fn f(a: u8, ignore: u8) {}",
            "#[lint(ignore)] const TODO: &str = \"todo!()\";",
        ] {
            assert_eq!(lines(check, "tests/a.rs", good), [], "{good}");
        }
    }
}
