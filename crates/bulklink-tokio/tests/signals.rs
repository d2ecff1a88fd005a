//! Signals to this process. Each test takes its turn, as all of them would get a signal.
#![cfg(all(unix, feature = "drain", feature = "watch"))]

use std::fs;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Drain, Readiness, Registry, config};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

static TURN: Mutex<()> = Mutex::const_new(());

/// Longer than anything takes; a test that fails ends after this.
const PATIENCE: Duration = Duration::from_secs(20);
const HOUR: Duration = Duration::from_secs(3600);

fn send(signal: &str) {
    let pid = std::process::id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the condition holds in time");
}

#[tokio::test]
async fn each_signal_to_end_begins_the_drain_and_those_after_it_hurry_it() {
    let _turn = TURN.lock().await;
    for [first, second, third] in [["-TERM", "-TERM", "-INT"], ["-INT", "-TERM", "-TERM"]] {
        let registry = Registry::new();
        let orders = registry.create(Bulkhead::builder("orders").parallelism(1)).unwrap();
        let running = orders.try_slot().unwrap();
        let readiness = Readiness::new(HOUR).unwrap();
        let drain = Drain::new(&registry).readiness(&readiness).notice(HOUR).limit(HOUR).unwrap();
        // A server with connections that stay, or none.
        let draining = tokio::spawn(async move {
            if first == "-TERM" { drain.serve(|_| pending::<io::Result<()>>()).await } else { Ok(drain.run().await?) }
        });
        // Its signals are received from its first poll on.
        sleep(Duration::from_millis(50)).await;
        assert!(readiness.is_ready());
        send(first);
        until(|| readiness.is_draining()).await;
        assert!(!registry.is_closed());
        send(second);
        until(|| registry.is_closed()).await;
        assert!(!draining.is_finished(), "a signal that was sent twice cuts no call");
        send(third);
        let drained = timeout(PATIENCE, draining).await.unwrap().unwrap().unwrap();
        assert_eq!(drained.running(), [("orders".into(), 1)]);
        assert_eq!(drained.has_connections(), first == "-TERM");
        drop(running);
    }
}

#[tokio::test]
async fn on_sighup_the_file_is_applied_also_if_it_was_refused_or_has_not_changed() {
    let _turn = TURN.lock().await;
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sighup.txt");
    fs::write(&path, "one").unwrap();
    let applied = Arc::new(StdMutex::new(Vec::new()));
    let texts = Arc::clone(&applied);
    let apply = move |text: &str| {
        if text.starts_with("bad") {
            return Err("it is bad".into());
        }
        texts.lock().unwrap().push(text.to_owned());
        Ok("")
    };
    let watch = config::watch(&path, apply).await.unwrap();
    send("-HUP");
    until(|| watch.status().applied == 2).await;
    fs::write(&path, "two").unwrap();
    send("-HUP");
    until(|| watch.status().applied == 3).await;
    fs::write(&path, "bad").unwrap();
    for refused in 1..=3 {
        send("-HUP");
        until(|| watch.status().refused == refused).await;
    }
    assert_eq!(*applied.lock().unwrap(), ["one", "one", "two"]);
    assert_eq!(watch.status().refusal.as_deref(), Some("it is bad"));
    fs::remove_file(&path).unwrap();
    send("-HUP");
    until(|| watch.status().refused == 4).await;
    assert!(watch.status().refusal.unwrap().starts_with("it cannot be read: "));
}
