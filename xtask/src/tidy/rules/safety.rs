//! `unsafe` stands only where a `SAFETY:` comment, at most three lines above, proves it.

use crate::tidy::Finding;
use crate::tidy::tokens::find;
use crate::tidy::tree::{File, Tree};

const ABOVE: usize = 3;

/// What follows the keyword. In attributes it is `(`: `#[unsafe(no_mangle)]` proves nothing and needs no proof.
const FOLLOWS: &[&str] = &["{", "impl", "fn", "trait", "extern"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources().flat_map(unproven).collect()
}

fn unproven(file: &File) -> Vec<Finding> {
    let lines: Vec<_> = file.text.lines().collect();
    let used = FOLLOWS.iter().flat_map(|next| find(&file.tokens, &["unsafe", next]));
    let unproven = used.filter(|token| !is_proven(&lines, token.line));
    unproven.map(|token| file.finding(token.line, "safety", "prove it: `// SAFETY: …`")).collect()
}

fn is_proven(lines: &[&str], line: usize) -> bool {
    let first = line.saturating_sub(ABOVE + 1);
    lines[first..line].iter().any(|line| line.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    #[test]
    fn unsafe_without_a_proof_is_found() {
        for bad in [
            "fn f() { unsafe { g() } }",
            "unsafe impl Send for A {}",
            "unsafe fn f() {}",
            "unsafe trait A {}",
            "unsafe extern \"C\" {}",
        ] {
            assert_eq!(lines(check, "src/a.rs", &format!("//! A.\n{bad}\n")), [2], "{bad}");
        }
    }

    #[test]
    fn a_proof_counts_on_the_line_and_up_to_three_above() {
        assert_eq!(lines(check, "src/a.rs", "unsafe fn f() {} // SAFETY: none needed\n"), []);
        assert_eq!(lines(check, "src/a.rs", "// SAFETY: a\n// b\n// c\nunsafe impl Send for A {}\n"), []);
        assert_eq!(lines(check, "src/a.rs", "// SAFETY: a\n\n\n\nunsafe impl Send for A {}\n"), [5]);
    }

    #[test]
    fn attributes_lints_and_words_pass() {
        let good = "#![forbid(unsafe_code)]\n#[unsafe(no_mangle)]\nfn f() {} // unsafe { }\n";
        assert_eq!(lines(check, "src/a.rs", good), []);
    }
}
