//! A process with four clients, which call the dependency through a guard; and its parent's view of
//! it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bulklink_breaker::Guard;
use bulklink_tokio::{Bulkhead, Tokio};
use reqwest::Client;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, stdin};
use tokio::process::{Child, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::sleep;

const CLIENTS: usize = 4;

/// Calls until the standard input ends, and prints the counters now and then.
pub(crate) async fn run(url: &str, address: &str) -> Result<()> {
    let bulkhead = Bulkhead::builder("payments").parallelism(CLIENTS).waiting_room(CLIENTS).build()?;
    let payments = Guard::builder(&bulkhead).breaker(&super::payments(url)?).run_limit(super::RUN_LIMIT).build()?;
    for _ in 0..CLIENTS {
        tokio::spawn(client(payments.clone(), format!("http://{address}/")));
    }
    let mut input = stdin();
    let mut nothing = [0];
    let end = input.read(&mut nothing);
    tokio::pin!(end);
    loop {
        let is_over = tokio::select! {
            _ended = &mut end => true,
            () = sleep(Duration::from_millis(50)) => false,
        };
        let totals = payments.breaker().status().totals;
        println!("{} {} {} {}", totals.ended(), totals.timed_out, totals.probes, totals.rejected);
        if is_over {
            return Ok(());
        }
    }
}

async fn client(payments: Guard<Tokio>, url: String) {
    let client = Client::new();
    loop {
        let call = async { client.get(&url).send().await?.error_for_status() };
        // A call that was rejected, or has failed, is one less. A service would fall back here.
        let _ = payments.execute(call).await;
        sleep(Duration::from_millis(fastrand::u64(5..25))).await;
    }
}

/// The counters of a worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) timed_out: u64,
    pub(crate) probes: u64,
    pub(crate) rejected: u64,
}

impl Counts {
    pub(crate) fn plus(self, other: Self) -> Self {
        Counts {
            calls: self.calls + other.calls,
            timed_out: self.timed_out + other.timed_out,
            probes: self.probes + other.probes,
            rejected: self.rejected + other.rejected,
        }
    }

    /// What came after `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Counts {
            calls: self.calls - earlier.calls,
            timed_out: self.timed_out - earlier.timed_out,
            probes: self.probes - earlier.probes,
            rejected: self.rejected - earlier.rejected,
        }
    }
}

/// A worker, as its parent sees it.
pub(crate) struct Worker {
    child: Child,
    counts: Arc<Mutex<Counts>>,
    reader: JoinHandle<()>,
}

impl Worker {
    pub(crate) fn new(mut child: Child) -> Result<Self> {
        let output = child.stdout.take().context("the output is piped")?;
        let counts = Arc::default();
        let reader = tokio::spawn(read(output, Arc::clone(&counts)));
        Ok(Worker { child, counts, reader })
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the process, and returns its last counters.
    pub(crate) async fn end(mut self) -> Result<Counts> {
        drop(self.child.stdin.take());
        self.child.wait().await?;
        (&mut self.reader).await?;
        Ok(self.counts())
    }
}

async fn read(output: ChildStdout, counts: Arc<Mutex<Counts>>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let numbers: Vec<u64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
        if let [calls, timed_out, probes, rejected] = numbers[..] {
            *counts.lock().unwrap_or_else(PoisonError::into_inner) = Counts { calls, timed_out, probes, rejected };
        }
    }
}
