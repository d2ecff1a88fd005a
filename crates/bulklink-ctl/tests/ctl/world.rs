//! Runs of the program, and processes of a fleet that it looks at.

use std::ops::Range;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bulklink_redis::{
    CallId, Command as Order, Epoch, Era, LeaseStore, Link, Name, Namespace, Notice, Outcome, OwnerId, Receiver,
    RedisLink, RedisStore, Session, Terms,
};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

/// A lease that does not end while a test runs.
pub(crate) const LONG: Terms = Terms { ttl: Duration::from_secs(3600), claim: Duration::from_secs(1800), block: 1 };

/// What came of a run.
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

/// The program with arguments, in the namespace `test`.
pub(crate) fn command(url: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulklink-ctl"));
    command.env_remove("NO_COLOR").env_remove("BULKLINK_REDIS_PASSWORD").env("TERM", "xterm");
    command.env("BULKLINK_REDIS_URL", url).env("BULKLINK_NAMESPACE", "test");
    command.args(words).stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn ctl(url: &str, words: &[&str]) -> Run {
    command(url, words).output().unwrap().into()
}

/// A command on circuits, in the namespace `test`, without a URL.
pub(crate) fn breaker_command(words: &[&str]) -> Command {
    let mut command = command("", &["breaker"]);
    command.env_remove("BULKLINK_POSTGRES_URL").env_remove("BULKLINK_POSTGRES_PASSWORD").args(words);
    command
}

/// Runs a command on circuits to its end, with much time because the machine is busy.
pub(crate) fn breaker(url: &str, words: &[&str]) -> Run {
    breaker_command(words).args(["--timeout", "20s", "--url", url]).output().unwrap().into()
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

struct Deaf;

impl Receiver for Deaf {
    fn notice(&self, _: &Name, _: Notice) {}

    fn ended(&self) {}
}

/// A process of a fleet, which says about itself `web-<number>`.
pub(crate) struct Process {
    runtime: Runtime,
    link: RedisLink,
    pub(crate) owner: OwnerId,
    info: Arc<str>,
}

impl Process {
    pub(crate) fn new(url: &str, number: u64) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let owner = OwnerId::from(u128::from(number));
        let session = Session { owner, process: "tests".into() };
        let store = RedisStore::new(url).unwrap();
        let link = runtime.block_on(store.connect(&session, Arc::new(Deaf))).unwrap();
        Process { runtime, link, owner, info: format!("web-{number}").into() }
    }

    pub(crate) fn saying(self, info: &str) -> Self {
        Process { info: info.into(), ..self }
    }

    pub(crate) fn call(&self, name: &Name, order: Order) -> (Outcome, Option<bulklink_redis::Head>) {
        let answer = self.runtime.block_on(self.link.call(name, order)).unwrap();
        (answer.outcome, answer.head)
    }

    /// Listens and opens the bulkhead, without a quarantine.
    pub(crate) fn open(&self, name: &Name, limit: u64) -> Epoch {
        self.runtime.block_on(self.link.listen(name)).unwrap();
        let (owner, terms, info) = (self.owner, LONG, Arc::clone(&self.info));
        let (generation, config, known, highest, run, young) = (7, 4, None, None, None, false);
        let open = Order::Open { owner, generation, limit, config, terms, known, highest, run, young, info };
        let (outcome, head) = self.call(name, open);
        assert!(matches!(outcome, Outcome::Opened { .. }), "{outcome:?}");
        head.unwrap().epoch.unwrap()
    }

    pub(crate) fn id(&self, seq: u64, cost: u64) -> CallId {
        CallId { owner: self.owner, seq, cost }
    }

    /// Acquires a lease or waits for it. Returns whether it is there.
    pub(crate) fn acquire(&self, name: &Name, epoch: Epoch, seq: u64, cost: u64) -> bool {
        let (id, era, terms) = (self.id(seq, cost), Era { epoch, run: None }, LONG);
        let acquire = Order::Acquire { id, wait: true, queue: 100_000, era, terms, give_back: vec![] };
        match self.call(name, acquire).0 {
            Outcome::Granted { .. } => true,
            Outcome::Queued { .. } => false,
            other => panic!("{other:?}"),
        }
    }

    /// Renews leases of one unit and waiters, or brings them.
    pub(crate) fn beat(&self, name: &Name, epoch: Epoch, leases: Range<u64>, waiters: Range<u64>) {
        let (owner, generation, era) = (self.owner, 7, Era { epoch, run: None });
        let leases = leases.map(|seq| self.id(seq, 1)).collect();
        let waiters = waiters.map(|seq| (self.id(seq, 1), seq.into())).collect();
        let (terms, info, gone) = (LONG, Arc::clone(&self.info), vec![]);
        let beaten = self.call(name, Order::Beat { owner, generation, era, terms, info, leases, waiters, gone }).0;
        assert!(matches!(&beaten, Outcome::Beaten { lost, .. } if lost.is_empty()), "{beaten:?}");
    }
}
