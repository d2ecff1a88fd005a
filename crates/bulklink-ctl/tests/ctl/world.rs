//! Runs of the program, and processes of a fleet that it looks at.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use bulklink_fleet::{LeaseStore, Link, Name, Namespace};
use bulklink_servers::Postgres;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The output of a run that must succeed.
    pub(crate) fn text(self) -> String {
        assert_eq!((self.code, &*self.err), (0, ""), "{}", self.out);
        self.out
    }

    /// The object that a run has printed, which must succeed.
    pub(crate) fn json(self) -> Value {
        let text = self.text();
        assert_eq!((text.lines().count(), text.ends_with('\n')), (1, true), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The exit code and the error of a run that must print nothing else.
    pub(crate) fn failure(self) -> (i32, String) {
        assert_eq!((self.err.lines().count(), &*self.out), (1, ""), "{}", self.err);
        (self.code, self.err.trim_end().strip_prefix("bulklink-ctl: ").unwrap().to_owned())
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or_else(|| panic!("{output:?}"));
        Run { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The program with arguments, in the namespace `test`, without a URL.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulklink-ctl"));
    for name in ["CI", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR", "BULKLINK_REDIS_URL", "BULKLINK_REDIS_PASSWORD"] {
        command.env_remove(name);
    }
    command.env_remove("BULKLINK_POSTGRES_URL").env_remove("BULKLINK_POSTGRES_PASSWORD");
    command.env("TERM", "xterm").env("BULKLINK_NAMESPACE", "test").args(words).stdin(Stdio::null());
    command
}

/// Runs it to its end, with much time because the machine is busy.
pub(crate) fn ctl(url: &str, words: &[&str]) -> Run {
    let time = if words.contains(&"--timeout") { &[][..] } else { &["--timeout", "20s"] };
    command(&[words, time, &["--url", url]].concat()).output().unwrap().into()
}

/// Runs a command on shares.
pub(crate) fn share(url: &str, words: &[&str]) -> Run {
    ctl(url, &[&["share"], words].concat())
}

/// Runs a command on circuits.
pub(crate) fn circuit(url: &str, words: &[&str]) -> Run {
    ctl(url, &[&["circuit"], words].concat())
}

/// The rights on Redis that the page of the program has: the first are for shares, the second for
/// circuits.
pub(crate) fn documented(place: usize) -> String {
    let page = include_str!("../../../../docs/guide/ctl.md");
    let list = page.split("```text").filter(|text| text.contains("-@all")).nth(place).unwrap();
    list.split("```").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sets up all parts.
pub(crate) fn set_up(server: &Postgres) {
    ctl(&server.url(), &["setup"]).text();
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn name(label: &str) -> Name {
    name_in("test", label)
}

pub(crate) fn name_in(namespace: &str, label: &str) -> Name {
    Name::new(&Namespace::new(namespace).unwrap(), label).unwrap()
}

/// A process with shares, and a link that lives as long as this.
pub(crate) struct Process<L> {
    runtime: Runtime,
    inner: bulklink_stores::Process<L>,
    claim: Duration,
}

impl<L: Link> Process<L> {
    pub(crate) fn on(store: &impl LeaseStore<Link = L>, number: u128) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let inner = runtime.block_on(bulklink_stores::Process::on(store, number));
        Process { runtime, inner, claim: Duration::from_secs(1800) }
    }

    pub(crate) fn claiming(self, claim: Duration) -> Self {
        Process { claim, ..self }
    }

    pub(crate) fn id(&self) -> String {
        self.inner.id.to_string()
    }

    /// Listens, and states the units that it keeps and needs of a limit. Returns those that it has
    /// then.
    pub(crate) fn state(&self, name: &Name, limit: u32, keep: u32, need: u32) -> u32 {
        let mut statement = self.inner.statement(keep, need);
        let declaration = &mut statement.declaration;
        (declaration.config, declaration.limit, declaration.terms.claim) = (4, limit, self.claim);
        // So that a level lasts as long as a test.
        declaration.terms.calm = Duration::from_secs(600);
        self.runtime.block_on(async {
            self.inner.link.listen(name).await.unwrap();
            self.inner.send(name, statement).await.unwrap().grant.units
        })
    }
}

/// Two processes, of which one has all units of `payments` and the other waits for some; and
/// `search`, of which none waits.
pub(crate) fn pair<L: Link>(store: &impl LeaseStore<Link = L>) -> [Process<L>; 2] {
    let [first, second] = [1, 2].map(|number| Process::on(store, number));
    assert_eq!(first.state(&name("payments"), 10, 0, 10), 10);
    assert_eq!(second.state(&name("payments"), 10, 0, 4), 0);
    assert_eq!(first.state(&name("search"), 100, 0, 3), 3);
    [first, second]
}
