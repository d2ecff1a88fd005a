//! A view that is drawn again and again.

use std::time::Duration;

use bulklink_fleet::{Name, Namespace};
use serde::Serialize;
use tokio::time::MissedTickBehavior;

use super::client::{Client, Shares};
use super::report::Gap;
use crate::failure::Failure;
use crate::output::{Output, title};
use crate::report::now_ms;
use crate::text::Text;

/// What is watched.
pub(crate) enum Subject {
    /// A share.
    One(Name),
    /// The shares of a namespace, or all.
    All(Option<Namespace>),
}

/// Watches until the output is a pipe that is closed.
///
/// # Errors
///
/// If there is nothing to see in the beginning. Later, that is a view too, and may change.
pub(crate) async fn run(
    mut client: Client<impl Shares>,
    mut output: Output,
    subject: &Subject,
    every: Duration,
) -> Result<(), Failure> {
    let mut has_seen = false;
    let mut clock = tokio::time::interval(every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let address = client.address();
        match subject {
            Subject::One(name) => view(&mut output, &address, client.show(name).await, has_seen)?,
            Subject::All(namespace) => {
                view(&mut output, &address, client.list(namespace.as_ref()).await, has_seen)?;
            }
        }
        has_seen = true;
    }
}

fn view<T: Serialize + Text>(
    output: &mut Output,
    address: &str,
    looked: Result<T, Failure>,
    has_seen: bool,
) -> Result<(), Failure> {
    let title = title(address, now_ms());
    match looked {
        Ok(view) => output.view(&title, &view),
        Err(failure) if !has_seen => Err(failure),
        Err(failure) => output.view(&title, &Gap { at_ms: now_ms(), error: failure.to_string() }),
    }
}
