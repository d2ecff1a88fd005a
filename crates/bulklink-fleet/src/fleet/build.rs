//! The names of a process, and the errors of building a fleet.

use bulklink::InvalidArgument;
use bulklink::runtime::SpawnError;
use thiserror::Error;

use crate::ProcessId;

/// The error of a [`Fleet`](super::Fleet) that could not be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A value is missing or out of its range.
    #[error("a value of the fleet is invalid")]
    Invalid(#[from] InvalidArgument),
    /// The runtime refuses to run the fleet's task.
    #[error("the task of the fleet was not run")]
    Spawn(#[source] SpawnError),
    /// The process can have no identity.
    #[error("the process has no identity")]
    Random(#[source] RandomError),
}

/// The operating system gives no random bits, so a process can have no identity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the operating system gives no random bits")]
pub struct RandomError(#[source] getrandom::Error);

/// Returns 128 random bits of the operating system. Nothing that a process keeps, and that those
/// forked from it would share, goes into them.
pub(super) fn random_id(
    fill: impl FnOnce(&mut [u8]) -> Result<(), getrandom::Error>,
) -> Result<ProcessId, RandomError> {
    let mut bits = [0; size_of::<u128>()];
    fill(&mut bits).map_err(RandomError)?;
    Ok(ProcessId::from(u128::from_ne_bytes(bits)))
}

/// Returns the name of the program and the number of the process.
pub(crate) fn program() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from).unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{name}-{}", std::process::id())
}

/// Replaces all but printable ASCII, and shortens the text.
pub(crate) fn printable(text: &str) -> String {
    let printable = |char: char| if char.is_ascii_graphic() { char } else { '_' };
    let text: String = text.trim().chars().take(100).map(printable).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_what_the_system_gives_for_it_and_nothing_else() {
        for byte in [1, 2, 1] {
            let id = random_id(|bits| {
                bits.fill(byte);
                Ok(())
            });
            assert_eq!(id, Ok(ProcessId::from(u128::from_ne_bytes([byte; 16]))));
        }
    }

    #[test]
    fn a_system_without_random_bits_is_an_error_with_its_cause() {
        let refused = random_id(|_| Err(getrandom::Error::UNSUPPORTED)).expect_err("there are none");
        let texts = bulklink::plumbing::texts(&BuildError::Random(refused));
        let all = "the process has no identity: the operating system gives no random bits: ";
        assert_eq!(texts, format!("{all}{}", getrandom::Error::UNSUPPORTED));
    }
}
