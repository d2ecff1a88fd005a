//! Runs the client as a process, against its own upstreams and against those of the test.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// Longer than it takes.
const PATIENCE: Duration = Duration::from_secs(50);

/// One line of the output.
#[derive(Debug)]
struct Row {
    url: String,
    answered: usize,
    rejected_here: usize,
    rejected_there: usize,
    failed: usize,
}

impl Row {
    fn calls(&self) -> usize {
        self.answered + self.rejected_here + self.rejected_there + self.failed
    }
}

/// Returns the lines without limits and those with them. Calls `between` when it begins with these.
async fn run(urls: &[String], between: impl Fn()) -> (Vec<Row>, Vec<Row>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_client"));
    let mut child = command.args(urls).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let read = async {
        let mut rows = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            println!("{line}");
            if line.starts_with("http") {
                rows.push(row(&line));
            } else if !rows.is_empty() {
                between();
            }
        }
        assert!(child.wait().await.unwrap().success());
        rows
    };
    let mut rows = timeout(PATIENCE, read).await.expect("it ends");
    let limited = rows.split_off(rows.len() / 2);
    (rows, limited)
}

fn row(line: &str) -> Row {
    let mut words = line.split_whitespace();
    let url = words.next().unwrap().to_owned();
    let mut number = || words.next().unwrap().parse().unwrap();
    Row { url, answered: number(), rejected_here: number(), rejected_there: number(), failed: number() }
}

#[tokio::test]
async fn a_slow_upstream_does_not_take_the_others_down() {
    let (unlimited, limited) = run(&[], || ()).await;
    for rows in [&unlimited, &limited] {
        let names: Vec<&str> = rows.iter().map(|row| row.url.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["fast", "slow", "busy"]);
        assert!(rows.iter().all(|row| row.calls() == 40 && row.failed == 0), "{rows:?}");
    }
    assert_eq!((unlimited[0].answered, unlimited[1].answered), (40, 40), "{unlimited:?}");
    assert!(unlimited.iter().all(|row| row.rejected_here == 0), "{unlimited:?}");
    let [fast, slow, busy] = limited.try_into().unwrap();
    assert!(fast.answered > 20, "{fast:?}");
    assert!(slow.answered >= 2 && slow.rejected_here > slow.answered, "{slow:?}");
    assert!(busy.answered >= 1 && busy.rejected_there > 0 && slow.rejected_there == 0, "{busy:?}");
}

/// How many requests an upstream works on, and how many they were at most.
#[derive(Clone, Default)]
struct Load(Arc<[AtomicUsize; 2]>);

#[tokio::test]
async fn no_upstream_gets_more_calls_at_a_time_than_the_limit() {
    let load = Load::default();
    let app = Router::new()
        .route(
            "/slow",
            get(async |State(Load(load)): State<Load>| {
                load[1].fetch_max(load[0].fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(50)).await;
                load[0].fetch_sub(1, Ordering::SeqCst);
            }),
        )
        .route("/broken", get(async || StatusCode::SERVICE_UNAVAILABLE))
        .with_state(load.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(axum::serve(listener, app).into_future());
    // Two hosts for the client.
    let urls = [format!("http://127.0.0.1:{port}/slow"), format!("http://localhost:{port}/broken")];
    let peak = || load.0[1].swap(0, Ordering::SeqCst);
    let (_, limited) = run(&urls, || assert!(peak() > 2, "without limits")).await;
    assert_eq!(peak(), 2);
    let [slow, broken] = limited.try_into().unwrap();
    assert!(slow.answered >= 2 && slow.rejected_here > 0, "{slow:?}");
    assert!(broken.failed > 20 && broken.rejected_there == 0, "a failure is no rejection: {broken:?}");
}
