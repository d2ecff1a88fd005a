//! The label of a bulkhead as it is exported: of bounded length, and still different from others.

use std::borrow::Cow;

/// The longest label that is exported as it is, in bytes. A longer one is cut, and ends in a hash
/// of the whole.
pub const MAX_LABEL: usize = 256;

/// The tilde and 16 hexadecimal digits.
const HASH_LENGTH: usize = 17;

/// Returns the label, or its beginning and a hash of the whole if it is longer than [`MAX_LABEL`].
pub(crate) fn exported(label: &str) -> Cow<'_, str> {
    if label.len() <= MAX_LABEL {
        return label.into();
    }
    let mut end = MAX_LABEL - HASH_LENGTH;
    while !label.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}~{:016x}", &label[..end], hash(label)).into()
}

/// FNV-1a, which is the same in every process and version, so that a series keeps its label.
fn hash(label: &str) -> u64 {
    label.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_cut_only_if_it_is_too_long_and_stays_different() {
        let longest = "a".repeat(MAX_LABEL);
        assert_eq!(exported(&longest), longest);
        let (one, other) = ("ä".repeat(500_000), "ä".repeat(500_001));
        let exported = [&one, &other].map(|label| exported(label));
        assert_ne!(exported[0], exported[1]);
        for label in exported {
            assert!((MAX_LABEL - 3..=MAX_LABEL).contains(&label.len()), "{}", label.len());
            assert!(label.starts_with("äää") && label.contains('~'));
        }
    }

    #[test]
    fn the_hash_of_a_label_never_changes() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
