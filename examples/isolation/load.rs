//! The clients: an open loop. Requests are due at a constant rate, whatever the earlier ones did,
//! and latency counts from the instant a request was due. So neither a slow gateway nor a late
//! generator hides the latency that a user would see.

use std::time::Duration;

use axum::http::{StatusCode, Uri};
use http_body_util::BodyExt;
use tokio::{
    sync::mpsc::UnboundedSender,
    time::{Instant, sleep_until, timeout_at},
};

use crate::{
    http::Client,
    scenario::Route,
    tally::{Outcome, Sample},
};

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) route: Route,
    pub(crate) url: Uri,
    pub(crate) rate: u32,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
    pub(crate) timeout: Duration,
    pub(crate) client: Client,
}

impl Load {
    pub(crate) async fn run(self, samples: UnboundedSender<Sample>) {
        let due = (0..).map(|n| self.from + Duration::from_secs(1) * n / self.rate);
        for due in due.take_while(|due| *due < self.until) {
            sleep_until(due).await;
            tokio::spawn(self.clone().request(due, samples.clone()));
        }
    }

    async fn request(self, due: Instant, samples: UnboundedSender<Sample>) {
        // The timeout drops the call, which closes the connection.
        let outcome = timeout_at(due + self.timeout, self.call()).await.unwrap_or(Outcome::TimedOut);
        // The receiver is gone if the phase has failed.
        let _ = samples.send(Sample { route: self.route, outcome, latency: due.elapsed() });
    }

    async fn call(&self) -> Outcome {
        match self.read().await {
            Ok(StatusCode::OK) => Outcome::Success,
            Ok(StatusCode::SERVICE_UNAVAILABLE) => Outcome::Rejected,
            Ok(StatusCode::GATEWAY_TIMEOUT) => Outcome::TimedOut,
            Ok(status) => Outcome::Failed(format!("the gateway answered {status}")),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    async fn read(&self) -> Result<StatusCode, Box<dyn std::error::Error + Send + Sync>> {
        let response = self.client.get(self.url.clone()).await?;
        let status = response.status();
        response.into_body().collect().await?;
        Ok(status)
    }
}
