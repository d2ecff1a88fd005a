//! A private Prometheus server, and the tool beside it.

mod http;
mod program;

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Missing;
use crate::guard::Guard;
use crate::place::{folder, free_ports};

/// The server starts in less than a second, unless the machine is busy.
const PATIENCE: Duration = Duration::from_secs(45);

/// A private Prometheus server on a port of the loopback. It ends, and its folder with all that it
/// stored is removed, when this is dropped.
///
/// ```no_run
/// use bulklink_servers::{Prometheus, require};
///
/// fn main() {
///     let server = require!(Prometheus::scraping(&[([127, 0, 0, 1], 3000).into()]));
///     let up = server.wait_for("up == 1", |samples| !samples.is_empty());
///     assert_eq!(up.len(), 1);
/// }
/// ```
#[derive(Debug)]
pub struct Prometheus {
    guard: Guard,
    folder: PathBuf,
    port: u16,
}

/// A sample in the answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The labels with their values, and the name of the metric as `__name__`, if it has one.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

impl Sample {
    /// Returns the value of a label; empty if there is none.
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value)
    }
}

impl Prometheus {
    /// Starts a server that reads `/metrics` of each target, as the job `bulklink`, once a second.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if this machine has no Prometheus.
    pub fn scraping(targets: &[SocketAddr]) -> Result<Self, Missing> {
        let targets: Vec<_> = targets.iter().map(|target| format!("\"{target}\"")).collect();
        Self::start(&format!(
            "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 1s\n\
             scrape_configs:\n- job_name: bulklink\n  static_configs:\n  - targets: [{}]\n",
            targets.join(", ")
        ))
    }

    /// Starts a server with a configuration of its own. Files that it names must have absolute
    /// paths.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if this machine has no Prometheus.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses the configuration.
    pub fn start(configuration: &str) -> Result<Self, Missing> {
        let program = program::find()?.join("prometheus");
        // Another process may take a port between its choice and its use.
        for _ in 0..5 {
            if let Some(server) = Self::try_start(&program, configuration) {
                return Ok(server);
            }
        }
        panic!("five choices of ports are in use");
    }

    /// `None` if the port is in use.
    fn try_start(program: &Path, configuration: &str) -> Option<Self> {
        let (folder, [port]) = (folder(), free_ports([true]));
        let file = folder.join("prometheus.yml");
        fs::write(&file, configuration).expect("the folder exists");
        let flags = [
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
            "--storage.tsdb.retention.time=1d".to_owned(),
        ];
        let mut command = vec![program.into()];
        command.extend(flags.map(Into::into));
        let guard = Guard::new(&folder, &command);
        let mut server = Prometheus { guard, folder, port };
        let pid = server.guard.start();
        let start = Instant::now();
        // The answer of another server at this port would not be ours: its log shows it.
        while http::get(port, "/-/ready").map_or(0, |(status, _)| status) != 200 || server.log_has("already in use") {
            if server.log_has("already in use") {
                return None;
            }
            let refused = server.log_has("Error loading config") || server.log_has("Error parsing");
            assert!(!refused && start.elapsed() < PATIENCE, "Prometheus, {pid}, does not start:\n{}", server.log());
            sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// Returns the port of the server's pages and its API.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder, which has the configuration and the log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the answer of the API to a query, at this moment: the samples of a vector, or a
    /// number as a sample without labels.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses the query, or does not answer.
    pub fn query(&self, expression: &str) -> Vec<Sample> {
        let answer = self.get(&format!("/api/v1/query?query={}", http::encoded(expression)));
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        match &answer["data"]["result"] {
            Value::Array(number) if answer["data"]["resultType"] == "scalar" => {
                vec![Sample { labels: vec![], value: value(number) }]
            }
            Value::Array(samples) => samples.iter().map(sample).collect(),
            other => panic!("{expression}: {other}"),
        }
    }

    /// Asks until the answer is as wanted, and returns it.
    ///
    /// # Panics
    ///
    /// Panics after 45 seconds, and as [`query`](Prometheus::query) does.
    pub fn wait_for(&self, expression: &str, is_wanted: impl Fn(&[Sample]) -> bool) -> Vec<Sample> {
        let start = Instant::now();
        loop {
            let samples = self.query(expression);
            if is_wanted(&samples) {
                return samples;
            }
            assert!(start.elapsed() < PATIENCE, "{expression} stays {samples:?}\n{}", self.log());
            sleep(Duration::from_millis(100));
        }
    }

    /// Returns the answer of the API at a path, such as `/api/v1/targets`.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer with JSON.
    pub fn get(&self, path: &str) -> Value {
        let (_, body) = http::get(self.port, path).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn log_has(&self, text: &str) -> bool {
        self.log().contains(text)
    }
}

fn sample(sample: &Value) -> Sample {
    let labels = sample["metric"].as_object().into_iter().flatten();
    let labels = labels.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
    Sample { labels: labels.collect(), value: value(sample["value"].as_array().map_or(&[], Vec::as_slice)) }
}

/// The time, and the value as a text.
fn value(pair: &[Value]) -> f64 {
    let text = pair.get(1).and_then(Value::as_str).unwrap_or_default();
    text.parse().unwrap_or_else(|_| panic!("no number: {pair:?}"))
}

/// The tool of Prometheus that checks metrics and rules.
#[derive(Debug)]
pub struct Promtool(PathBuf);

impl Promtool {
    /// Finds the tool.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if this machine has no Prometheus.
    pub fn find() -> Result<Self, Missing> {
        Ok(Promtool(program::find()?.join("promtool")))
    }

    /// Runs the tool with arguments and a standard input. Returns all of its output, as an error if
    /// it fails.
    ///
    /// # Errors
    ///
    /// If the tool reports anything but success.
    ///
    /// # Panics
    ///
    /// Panics if the tool cannot be run.
    pub fn run(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut tool = Command::new(&self.0);
        tool.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tool = tool.spawn().expect("it ran when it was found");
        let mut stdin = tool.stdin.take().expect("the input is piped");
        let input = input.to_owned();
        // Beside the reading of the output, which could fill up.
        let writer = std::thread::spawn(move || {
            // A tool that does not read its input closes it.
            let _ = stdin.write_all(input.as_bytes());
        });
        let output = tool.wait_with_output().expect("it runs");
        writer.join().expect("writing does not panic");
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        if output.status.success() { Ok(said) } else { Err(said) }
    }
}
