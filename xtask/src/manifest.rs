//! As much of `Cargo.toml` as the checks need: its keys with their full path, and their values as written.

/// The sections and entries of a manifest, in order.
pub(crate) struct Manifest {
    sections: Vec<String>,
    entries: Vec<Entry>,
}

/// One `key = value`.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    /// Section and key: `workspace.lints.rust.missing_docs`. A dotted key and a section of its own read the same.
    pub(crate) path: String,
    /// The value as written, comments taken out: `"deny"`, `{ workspace = true }`, `["a", "b"]`.
    pub(crate) value: String,
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
}

impl Manifest {
    /// Reads what cargo has already accepted; so nothing here is an error.
    pub(crate) fn parse(text: &str) -> Self {
        let mut section = "";
        let mut sections = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for (line, text) in text.lines().map(without_comment).enumerate() {
            if let Some(open) = entries.last_mut().filter(|entry| is_open(&entry.value)) {
                open.value.push_str(text);
            } else if text.starts_with('[') {
                section = text.trim_matches(['[', ']']).trim();
                sections.push(section.to_owned());
            } else if let Some((key, value)) = text.split_once('=') {
                entries.push(Entry { path: path(section, key), value: value.trim().to_owned(), line: line + 1 });
            }
        }
        Self { sections, entries }
    }

    /// The entries, in order.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The value at a path, as written.
    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.path == path).map(|entry| entry.value.as_str())
    }

    /// The string at a path, without its quotes.
    pub(crate) fn string(&self, path: &str) -> Option<&str> {
        self.get(path).map(|value| value.trim_matches('"'))
    }

    /// The strings of the array at a path; none if there is no such array.
    pub(crate) fn strings(&self, path: &str) -> Vec<&str> {
        self.get(path).unwrap_or_default().split('"').skip(1).step_by(2).collect()
    }

    /// Whether it has the section, be it empty, or one below it.
    pub(crate) fn has_section(&self, section: &str) -> bool {
        let rests = self.sections.iter().filter_map(|path| path.strip_prefix(section));
        rests.into_iter().any(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

fn path(section: &str, key: &str) -> String {
    let key = key.trim();
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

fn is_open(value: &str) -> bool {
    value.starts_with('[') && !value.ends_with(']')
}

fn without_comment(line: &str) -> &str {
    let mut in_string = false;
    let comment = line.find(|c| {
        in_string ^= c == '"';
        c == '#' && !in_string
    });
    line[..comment.unwrap_or(line.len())].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_full_path() {
        let manifest = Manifest::parse("a = 1\n[b.c]\n# note\nd = \"x # y\" # z\n");
        let entry = |path: &str, value: &str, line| Entry { path: path.into(), value: value.into(), line };
        assert_eq!(manifest.entries(), [entry("a", "1", 1), entry("b.c.d", "\"x # y\"", 4)]);
    }

    #[test]
    fn a_dotted_key_reads_like_a_section() {
        for text in ["[lints]\nworkspace = true", "lints.workspace = true"] {
            assert_eq!(Manifest::parse(text).get("lints.workspace"), Some("true"));
        }
    }

    #[test]
    fn arrays_may_span_lines() {
        let manifest = Manifest::parse("[workspace]\nmembers = [\n  \"a/*\", # all\n  \"b\",\n]\nresolver = \"3\"");
        assert_eq!(manifest.strings("workspace.members"), ["a/*", "b"]);
        assert_eq!(manifest.string("workspace.resolver"), Some("3"));
    }

    #[test]
    fn an_empty_section_counts_and_so_does_one_below() {
        for text in ["[workspace]", "[workspace.package]"] {
            assert!(Manifest::parse(text).has_section("workspace"));
        }
        let manifest = Manifest::parse("[workspace.package]");
        assert!(!manifest.has_section("work"));
    }
}
