//! No file has more than 500 lines.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

const MOST: usize = 500;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let counted = tree.sources().map(|file| (file, file.text.lines().count()));
    let long = counted.filter(|(_, lines)| *lines > MOST);
    long.map(|(file, lines)| file.finding(MOST + 1, "length", format!("{lines} lines; split the file"))).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    #[test]
    fn the_first_line_too_many_is_found() {
        assert_eq!(lines(check, "src/a.rs", &"//! A.\n".repeat(500)), []);
        assert_eq!(lines(check, "src/a.rs", &"//! A.\n".repeat(501)), [501]);
    }
}
