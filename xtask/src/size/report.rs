//! What people are told about the sizes.

use std::fmt;

use super::text::{Origin, Text};
use super::{LIMIT, Sizes, TARGET};

/// How many functions are listed where there is too much code.
const LARGEST: usize = 25;

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "core .text on {TARGET}: {} bytes (limit {LIMIT})", self.core())?;
        origins(f, &self.gate)?;
        writeln!(
            f,
            "judged is the program with the gate, {}, less an empty one, {}",
            self.gate.bytes, self.empty.bytes
        )?;
        let values = self.values.over(&self.empty);
        writeln!(f, "not judged: the values that go in and out, with their texts, {values} on their own")?;
        if self.core() > LIMIT { largest(f, &self.gate) } else { Ok(()) }
    }
}

fn origins(f: &mut fmt::Formatter<'_>, text: &Text) -> fmt::Result {
    writeln!(f, "{:>8} its own, with what alloc and core make for its types", text.of(Origin::Core))?;
    writeln!(f, "{:>8} the rest of alloc and core that it calls", text.of(Origin::Library))?;
    writeln!(f, "{:>8} what the compiler calls, such as memcpy", text.of(Origin::Runtime))?;
    writeln!(f, "{:>8} the probe's heap", text.of(Origin::Probe))
}

fn largest(f: &mut fmt::Formatter<'_>, text: &Text) -> fmt::Result {
    writeln!(f, "the largest functions:")?;
    let mut largest = text.functions.iter().take(LARGEST);
    largest.try_for_each(|function| writeln!(f, "{:>8} {}", function.bytes, function.name))
}

#[cfg(test)]
mod tests {
    use super::super::text::Function;
    use super::*;

    fn text(bytes: u64) -> Text {
        let function = Function { name: "bulklink_core::f".into(), bytes };
        Text { bytes, functions: vec![function] }
    }

    fn sizes(gate: u64) -> Sizes {
        Sizes { empty: text(14), gate: text(gate), values: text(0) }
    }

    #[test]
    fn an_empty_program_does_not_count() {
        let sizes = sizes(LIMIT + 14);
        assert_eq!(sizes.core(), LIMIT);
        assert!(sizes.to_string().starts_with("core .text on thumbv7em-none-eabi: 8192 bytes (limit 8192)\n"));
    }

    #[test]
    fn the_functions_are_listed_where_there_is_too_much() {
        assert!(!sizes(LIMIT + 14).to_string().contains("bulklink_core::f"));
        assert!(sizes(LIMIT + 15).to_string().contains("8207 bulklink_core::f"));
    }
}
