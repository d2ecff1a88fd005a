//! A private server as a subject of the suite.

use std::sync::{Arc, Mutex};

use bulklink_circuits::Subject;
use bulklink_redis::RedisStore;
use bulklink_redis::breaker::RedisCircuits;
use bulklink_redis::plumbing::{Keys, with_clock};
use bulklink_redis::{Name, Namespace};
use bulklink_servers::{Connection, Missing, Server};
use tokio::runtime::{Builder, Runtime};

/// Where the scripts read the time.
const CLOCK: &str = "clock";

/// A private server, in virtual time.
#[derive(Clone)]
pub(crate) struct Redis {
    url: String,
    runtime: Arc<Runtime>,
    connection: Arc<Mutex<Connection>>,
    _server: Arc<Server>,
}

impl Redis {
    pub(crate) fn start() -> Result<Self, Missing> {
        let server = Server::start()?;
        let connection = Arc::new(Mutex::new(server.connect().expect("it runs")));
        Ok(Redis { url: server.url(), runtime: Arc::new(runtime()), connection, _server: Arc::new(server) })
    }

    /// Sends a command.
    pub(crate) fn call(&self, words: &[&str]) -> bulklink_servers::Reply {
        self.connection.lock().unwrap().call(words).unwrap()
    }
}

impl Subject for Redis {
    type Store = RedisCircuits;

    fn store(&self) -> RedisCircuits {
        with_clock(RedisStore::new(&self.url).unwrap().circuits(), CLOCK)
    }

    fn set_now(&self, micros: u64) {
        let [seconds, rest] = [micros / 1_000_000, micros % 1_000_000].map(|number| number.to_string());
        let mut connection = self.connection.lock().unwrap();
        let script = "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], ARGV[1], ARGV[2])";
        connection.call(&["EVAL", script, "1", CLOCK, &seconds, &rest]).unwrap();
    }

    fn lose(&self, name: &Name) {
        self.call(&["DEL", &Keys::new(name).circuit()]);
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A name in the namespace of the rights of the tests.
pub(crate) fn name(label: &str) -> Name {
    Name::new(&Namespace::new("prod").unwrap(), label).unwrap()
}
