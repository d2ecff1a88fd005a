//! The dependency that the workers call: an HTTP server that fails and slows by a script.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// How the dependency answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Works,
    Fails,
    /// It answers so late that callers have given up.
    IsSlow,
}

impl fmt::Display for Mood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Mood::Works => "works",
            Mood::Fails => "fails",
            Mood::IsSlow => "is slow",
        })
    }
}

/// A fifth of the time each.
pub(crate) const SCRIPT: [Mood; 5] = [Mood::Works, Mood::Fails, Mood::Works, Mood::IsSlow, Mood::Works];

pub(crate) struct Dependency {
    address: SocketAddr,
    scene: Arc<Scene>,
}

struct Scene {
    begin: Instant,
    time: Duration,
    calls: Mutex<Vec<Instant>>,
}

impl Dependency {
    pub(crate) async fn start(time: Duration) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let scene = Arc::new(Scene { begin: Instant::now(), time, calls: Mutex::default() });
        let answering = Arc::clone(&scene);
        let answer = move || {
            let scene = Arc::clone(&answering);
            async move { scene.answer().await }
        };
        tokio::spawn(async { axum::serve(listener, Router::new().route("/", get(answer))).await });
        Ok(Dependency { address, scene })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The place in the script.
    pub(crate) fn phase(&self) -> usize {
        self.scene.phase()
    }

    pub(crate) fn mood(&self) -> Mood {
        SCRIPT[self.phase()]
    }

    /// When each call came.
    pub(crate) fn calls(&self) -> Vec<Instant> {
        self.scene.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Scene {
    fn phase(&self) -> usize {
        let fifths = self.begin.elapsed().as_millis() * SCRIPT.len() as u128 / self.time.as_millis().max(1);
        let last = SCRIPT.len() - 1;
        usize::try_from(fifths).map_or(last, |fifth| fifth.min(last))
    }

    async fn answer(&self) -> StatusCode {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        match SCRIPT[self.phase()] {
            Mood::Works => StatusCode::OK,
            Mood::Fails => StatusCode::INTERNAL_SERVER_ERROR,
            Mood::IsSlow => {
                sleep(super::RUN_LIMIT * 2).await;
                StatusCode::OK
            }
        }
    }
}
