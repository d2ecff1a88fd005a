//! How soon the place of a prober is free after its process was killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bulklink_breaker::{Breaker, Settings};
use bulklink_fleet::circuits::CircuitStore;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::ground::{Member, postgres, redis};
use super::{Effort, Ground, Kind, Scene};
use crate::now;
use crate::report::{Limit, Row};
use crate::scene::millis;
use crate::witness::Nanos;

/// The lease of a probe.
const LEASE: Duration = Duration::from_secs(1);

/// How often a process asks for a probe.
const MOMENT: Duration = Duration::from_millis(2);

fn settings() -> Settings {
    Settings::consecutive(1).cool_down(Duration::from_millis(50)).probes(1).close_after(1).probe_lease(LEASE)
}

/// The answer to a process that becomes a prober and never ends its probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prober {
    kind: Kind,
    url: String,
    label: String,
}

pub(super) fn run(ground: &Ground, effort: &Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        let time = |number| {
            let prober = Prober { kind, url: ground.url(kind), label: format!("crash-{number}") };
            match kind {
                Kind::Postgres => measure(postgres(&prober.url), &prober, ground),
                Kind::Redis => measure(redis(&prober.url), &prober, ground),
            }
        };
        let times = (0..effort.crashes).map(time).collect::<Result<Vec<_>>>()?;
        let longest = millis(times.into_iter().max().context("no prober was killed")?);
        let what = format!("a killed prober's place is free, lease {LEASE:?}, longest of {}", effort.crashes);
        let row = Row::new(Scene::Crash.name(), format!("{what}, {}", kind.name()), longest, "ms");
        rows.push(row.limit(Limit::AtMost(LEASE.as_secs_f64() * 1e3 + 100.0)));
    }
    Ok(rows)
}

/// From the beginning of the lease of a prober, which is killed at once, to the probe of another
/// process: a test that is slow to hear of the lease measures all of it.
fn measure(store: impl CircuitStore, prober: &Prober, ground: &Ground) -> Result<Nanos> {
    let mut process = Process::start(prober, ground)?;
    process.read("ready")?;
    let member = Member::join(store, &prober.label, settings())?;
    member.breaker.admit().ok().context("a new circuit is closed")?.fail();
    let begun: Nanos = process.read("probe")?.parse().context("a time")?;
    process.kill()?;
    member.runtime.block_on(async {
        let (call, _) = asked(&member.breaker).await?;
        let freed = now();
        call.succeed();
        Ok(freed.saturating_sub(begun))
    })
}

/// Asks until a probe is let through. Returns when that was asked for, too.
async fn asked(breaker: &Breaker) -> Result<(bulklink_breaker::Call<'_>, Nanos)> {
    let patience = now() + 30_000_000_000;
    loop {
        let begun = now();
        match breaker.ask().await {
            Ok(call) if call.is_probe() => return Ok((call, begun)),
            // Of the closed circuit, if this process does not know yet that it is open.
            Ok(call) => call.ignore(),
            Err(_) => {}
        }
        ensure!(now() < patience, "no probe was let through for 30 s");
        sleep(MOMENT).await;
    }
}

/// A prober. Does not outlive this value.
struct Process {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(prober: &Prober, ground: &Ground) -> Result<Self> {
        let mut command = Command::new(ground.program());
        command.arg("prober").arg(serde_json::to_string(prober)?).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("the prober does not start")?;
        let answers = BufReader::new(child.stdout.take().context("the output is piped")?);
        Ok(Process { child, answers })
    }

    /// Reads a line that begins with this word. Returns the rest.
    fn read(&mut self, word: &str) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let rest = line.trim().strip_prefix(word).with_context(|| format!("the prober ended before {word}"))?;
        Ok(rest.trim().to_owned())
    }

    /// Kills it with SIGKILL.
    fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that was killed is gone already.
        let _ = self.kill();
    }
}

/// Is a prober: writes `ready` once it shares the circuit, and `probe` when it has one, with the
/// time at which it asked for it. It holds the probe until it is killed. When its input ends,
/// because its parent is gone, it ends too.
///
/// # Errors
///
/// Fails if there is no server.
pub fn probe(prober: &Prober) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
    let member = match prober.kind {
        Kind::Postgres => Member::join(postgres(&prober.url), &prober.label, settings())?,
        Kind::Redis => Member::join(redis(&prober.url), &prober.label, settings())?,
    };
    println!("ready");
    member.runtime.block_on(async {
        let (_probe, begun) = asked(&member.breaker).await?;
        println!("probe {begun}");
        std::future::pending().await
    })
}
