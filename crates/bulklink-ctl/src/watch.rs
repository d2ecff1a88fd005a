//! A view that is drawn again and again.

use std::time::Duration;

use bulklink_redis::{Name, Namespace};
use serde::Serialize;
use tokio::time::MissedTickBehavior;

use crate::args::Settings;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Output, title};
use crate::report::{Gap, List, Show, now_ms};
use crate::text::Text;

/// What is watched.
pub(crate) enum Subject {
    /// A bulkhead, with at most so many holders, waiters and processes.
    One(Name, usize),
    /// The bulkheads of a namespace, or all.
    All(Option<Namespace>),
}

/// What is seen of it.
#[derive(Serialize)]
#[serde(untagged)]
enum View {
    One(Box<Show>),
    All(List),
    Nothing(Gap),
}

impl View {
    fn text(&self) -> &dyn Text {
        match self {
            View::One(show) => &**show,
            View::All(list) => list,
            View::Nothing(gap) => gap,
        }
    }
}

impl Text for View {
    fn text(&self, colours: bool) -> String {
        self.text().text(colours)
    }

    fn line(&self) -> String {
        self.text().line()
    }
}

/// Watches until Ctrl-C, or until the output is a pipe that is closed.
///
/// # Errors
///
/// If there is nothing to see in the beginning. Later, that is a view too, and may change.
pub(crate) async fn run(settings: &Settings, subject: &Subject, every: Duration) -> Result<(), Failure> {
    tokio::select! {
        result = views(settings, subject, every) => result,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn views(settings: &Settings, subject: &Subject, every: Duration) -> Result<(), Failure> {
    let (mut output, mut client, mut has_seen) = (Output::new(settings.json), None, false);
    let mut clock = tokio::time::interval(every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let view = match look(settings, subject, &mut client).await {
            Err(failure) if !has_seen => return Err(failure),
            Err(failure) => {
                // The next view has a new connection.
                client = None;
                View::Nothing(Gap { at_ms: now_ms(), error: failure.to_string() })
            }
            Ok(view) => view,
        };
        has_seen = true;
        output.view(&title(&settings.store.address(), now_ms()), &view)?;
    }
}

async fn look(settings: &Settings, subject: &Subject, client: &mut Option<Client>) -> Result<View, Failure> {
    let client = match client {
        Some(client) => client,
        None => client.insert(Client::connect(settings).await?),
    };
    Ok(match subject {
        Subject::One(name, top) => View::One(Box::new(client.show(name, *top).await?)),
        Subject::All(namespace) => View::All(client.list(namespace.as_ref()).await?),
    })
}
