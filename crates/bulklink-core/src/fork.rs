//! Copies, for a search that goes on from one state in many ways.

/// A copy of what is no value, because its copy would be a forgery: a gate with everything that it
/// has issued.
///
/// The copy of a grant or of a ticket belongs to the copy of its gate, and is of no use to the gate
/// itself.
pub trait Fork {
    /// Makes a copy that goes on by itself.
    #[must_use]
    fn fork(&self) -> Self;
}
