//! The service as a child process, with its file of settings and its log; and an upstream whose
//! answers the test holds back.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use reqwest::header::CONTENT_TYPE;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The settings that the example comes with.
const SETTINGS: &str = include_str!("../../../app.toml");

/// Longer than anything takes; a test that fails ends after this.
const PATIENCE: Duration = Duration::from_secs(8);

/// The limits of one section of the settings.
#[derive(Clone, Copy)]
pub struct Section {
    pub parallelism: i64,
    pub waiting_room: usize,
    pub wait_limit: Option<&'static str>,
}

/// The settings that the tests vary.
#[derive(Clone, Copy)]
pub struct Settings {
    pub orders: Section,
    pub digest: Section,
    pub export: Section,
    pub tenants: Section,
    pub notice_ms: u64,
    pub drain_limit_ms: u64,
    pub grace_ms: u64,
    pub max_tenants: usize,
}

/// A section without a waiting room.
pub fn slots(parallelism: i64) -> Section {
    Section { parallelism, waiting_room: 0, wait_limit: None }
}

/// Settings that limit nothing that a test does.
pub fn roomy() -> Settings {
    let roomy = slots(100);
    Settings {
        orders: roomy,
        digest: roomy,
        export: roomy,
        tenants: roomy,
        notice_ms: 0,
        drain_limit_ms: 60_000,
        grace_ms: 60_000,
        max_tenants: 100,
    }
}

pub struct Service {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    address: String,
    settings: PathBuf,
    upstream: String,
    open: watch::Sender<bool>,
}

impl Service {
    pub async fn start(settings: Settings) -> Self {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let (upstream, open) = start_upstream().await;
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("app-{number}.toml"));
        fs::write(&path, toml(&settings, &upstream)).unwrap();
        Self::run(&[], path, upstream, open).await
    }

    /// Starts the demonstration with the settings that the example has, but for the port.
    pub async fn demonstration() -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("demo.toml");
        fs::write(&path, SETTINGS.replace("127.0.0.1:8080", "127.0.0.1:0")).unwrap();
        Self::run(&["--demo"], path, String::new(), watch::channel(true).0).await
    }

    /// Starts the demonstration with settings of this name, and returns the command for Prometheus
    /// that it prints.
    pub async fn printed_command(name: &str) -> String {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, SETTINGS.replace("127.0.0.1:8080", "127.0.0.1:0")).unwrap();
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_service"));
        command.arg("--demo").arg(path).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let find = async {
            loop {
                let line = lines.next_line().await.unwrap().expect("it prints one");
                if let Some((_, command)) = line.split_once("Prometheus `") {
                    return command.trim_end_matches("`,").to_owned();
                }
            }
        };
        timeout(PATIENCE, find).await.expect("it prints one")
    }

    /// Starts with a file that is refused, and returns what the service says.
    pub async fn refused(text: &str) -> String {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("refused.toml");
        fs::write(&path, text).unwrap();
        let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_service")).arg(&path).output();
        let output = timeout(PATIENCE, output).await.expect("it ends").unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    }

    /// Returns the configuration of Prometheus that the service prints for its address.
    pub fn prometheus_config(&self) -> String {
        let path = self.settings.with_extension("print.toml");
        fs::write(&path, SETTINGS.replace("127.0.0.1:8080", &self.address)).unwrap();
        let service = Command::new(env!("CARGO_BIN_EXE_service")).arg("--print-prometheus-config").arg(&path).output();
        String::from_utf8(service.unwrap().stdout).unwrap()
    }

    async fn run(arguments: &[&str], path: PathBuf, upstream: String, open: watch::Sender<bool>) -> Self {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_service"));
        command.args(arguments).arg(&path).env("RUST_LOG", "info,bulklink=debug");
        command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (log, written) = (Arc::new(Mutex::new(Vec::new())), child.stderr.take().unwrap());
        let lines = Arc::clone(&log);
        tokio::spawn(async move {
            let mut written = BufReader::new(written).lines();
            while let Ok(Some(line)) = written.next_line().await {
                lines.lock().unwrap().push(line);
            }
        });
        let mut service = Service { child, log, address: String::new(), settings: path, upstream, open };
        let line = service.logged("listening").await;
        service.address = line.split("address=").nth(1).expect("an address").to_string();
        service
    }

    /// Waits until the log has a line with this text, and returns the line. An ellipsis stands for
    /// anything.
    pub async fn logged(&self, text: &str) -> String {
        let has = |line: &String| {
            let mut rest = &**line;
            text.split('…').all(|part| rest.split_once(part).inspect(|(_, after)| rest = after).is_some())
        };
        let find = async || loop {
            if let Some(line) = self.log.lock().unwrap().iter().find(|line| has(line)) {
                return line.clone();
            }
            sleep(Duration::from_millis(5)).await;
        };
        let found = timeout(PATIENCE, find()).await;
        found.unwrap_or_else(|_| panic!("no {text:?} in {:#?}", self.log.lock().unwrap()))
    }

    /// Sends a request.
    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
        timeout(PATIENCE, send(format!("http://{}{path}", self.address), headers)).await.expect("an answer")
    }

    /// Sends a request, and does not wait for the answer.
    pub fn spawn(&self, path: &str, headers: &'static [(&'static str, &'static str)]) -> JoinHandle<reqwest::Response> {
        let url = format!("http://{}{path}", self.address);
        tokio::spawn(async { send(url, headers).await })
    }

    /// Waits until a metric of a bulkhead has this value. The name may be followed by a label that
    /// only this metric has.
    pub async fn shows(&self, name: &str, bulkhead: &str, value: u64) {
        let (name, label) = name.split_once(' ').unwrap_or((name, ""));
        let (comma, kind) = (if label.is_empty() { "" } else { "," }, kind(bulkhead));
        let labels = format!("bulkhead=\"{bulkhead}\",kind=\"{kind}\"{comma}{label}");
        self.has_line(&format!("bulklink_{name}{{{labels}}} {value}")).await;
    }

    /// Waits until the metrics have this line.
    pub async fn has_line(&self, line: &str) {
        let find = async || {
            while !self.metrics().await.lines().any(|shown| shown == line) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let found = timeout(PATIENCE, find()).await;
        assert!(found.is_ok(), "no {line:?} in {}", self.metrics().await);
    }

    /// Waits until the service is ready, or until it is not, and returns the answer.
    pub async fn readiness(&self, status: u16) -> String {
        let find = async || loop {
            let answer = self.get("/ready", &[]).await;
            if answer.status() == status {
                return answer.text().await.unwrap();
            }
            sleep(Duration::from_millis(5)).await;
        };
        timeout(PATIENCE, find()).await.unwrap_or_else(|_| panic!("/ready never answered {status}"))
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub async fn metrics(&self) -> String {
        self.get("/metrics", &[]).await.text().await.unwrap()
    }

    /// Lets the upstream answer what it has held back, and all else.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Replaces the file of settings in one step.
    pub fn write(&self, settings: &Settings) {
        self.write_text(&toml(settings, &self.upstream));
    }

    pub fn write_text(&self, text: &str) {
        let new = self.settings.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, &self.settings).unwrap();
    }

    /// Sends a signal, such as `-TERM`.
    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().expect("it runs").to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    pub async fn ended(&mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap()
    }
}

/// Checks that the service rejected a call, and that the answer says what a client needs: a status,
/// and a problem.
pub async fn rejected(answer: reqwest::Response, bulkhead: &str, reason: &str, status: u16) {
    let (got, headers, body) = (answer.status(), answer.headers().clone(), answer.text().await.unwrap());
    assert_eq!(got, status, "{body}");
    assert_eq!(headers[CONTENT_TYPE], "application/problem+json");
    assert_eq!(headers["bulklink-rejected"], reason);
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((problem["label"].as_str(), problem["reason"].as_str()), (Some(bulkhead), Some(reason)));
}

/// A client for each request, so that connections are not shared.
async fn send(url: String, headers: &[(&str, &str)]) -> reqwest::Response {
    let request = reqwest::Client::new().get(url);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.unwrap()
}

/// Starts an upstream that answers orders named `held` only when the sender says so.
async fn start_upstream() -> (String, watch::Sender<bool>) {
    let (open, opened) = watch::channel(false);
    let answer = async move |Path(id): Path<String>| {
        if id == "held" {
            let _ = opened.clone().wait_for(|open| *open).await;
        }
        format!("order {id}")
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, Router::new().route("/{id}", get(answer))).into_future());
    (url, open)
}

/// The text of the settings.
pub fn toml(settings: &Settings, upstream: &str) -> String {
    let Settings { orders, digest, export, tenants, notice_ms, drain_limit_ms, grace_ms, max_tenants } = settings;
    let section = |(name, section): (&str, &Section)| {
        let Section { parallelism, waiting_room, wait_limit } = section;
        let limit = wait_limit.map_or(String::new(), |limit| format!("wait_limit = \"{limit}\"\n"));
        format!("[limits.{name}]\nparallelism = {parallelism}\nwaiting_room = {waiting_room}\n{limit}")
    };
    let bulkheads = [("orders", orders), ("digest", digest), ("export", export)];
    let sections = bulkheads.map(|(label, limits)| section((&format!("bulkheads.{label}"), limits)));
    format!(
        "listen = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\nnotice_ms = {notice_ms}\ndrain_limit_ms = {drain_limit_ms}\n\
         grace_ms = {grace_ms}\n{}{}max_partitions = {max_tenants}\n",
        sections.concat(),
        section(("partitions.tenants", tenants)),
    )
}

fn kind(bulkhead: &str) -> &'static str {
    if bulkhead == "tenants" { "partitions" } else { "bulkhead" }
}
