//! One connection to one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bulklink_fleet::{RunId, Server, StoreError};
use redis::aio::{AsyncPushSender, MultiplexedConnection, SendError};
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionInfo, Pipeline, PushInfo, PushKind, Value};

use crate::error::{of_connection, refused};
use crate::scripts::Source;

/// More commands than a process can have on the way. A queue that is full would let commands pass
/// each other: a place in it is given to tasks in order, but used by them in any.
const QUEUE: usize = usize::MAX >> 4;

/// A connection, and the facts about its server.
pub(crate) struct Node {
    connection: MultiplexedConnection,
    pub(crate) address: String,
    pub(crate) info: ConnectionInfo,
    pub(crate) server: Server,
    /// Slots can move to another node, which ends subscriptions.
    pub(crate) is_cluster: bool,
    pub(crate) life: Arc<Life>,
}

/// How a script is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Hash,
    /// By its hash, just after it was loaded.
    Loaded,
    /// By its text: the user must not load scripts.
    Text,
}

/// The purpose of a new connection.
pub(crate) enum Purpose<'a> {
    /// Commands of the process with this name.
    Commands(&'a str),
    /// Other commands.
    Look,
}

impl Node {
    /// Connects, and learns what there is to know of the server.
    pub(crate) async fn connect(
        info: ConnectionInfo,
        timeout: Duration,
        purpose: Purpose<'_>,
        hearer: Option<Arc<dyn Hearer>>,
    ) -> Result<Self, StoreError> {
        let life = Arc::<Life>::default();
        let connection = {
            let pushes = Pushes { life: Arc::clone(&life), hearer };
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(timeout))
                .set_response_timeout(None)
                .set_pipeline_buffer_size(QUEUE)
                .set_push_sender(pushes);
            let client = Client::open(info.clone()).map_err(|error| of_connection(&error))?;
            let connecting = client.get_multiplexed_async_connection_with_config(&config);
            connecting.await.map_err(|error| of_connection(&error))?
        };
        // Two connections to one address need not reach one server, but they may share a link's.
        let address = info.addr().to_string();
        let mut node = Node { connection, address, info, server: Server::default(), is_cluster: true, life };
        if let Purpose::Commands(process) = purpose {
            node.introduce(process, timeout).await?;
        }
        Ok(node)
    }

    /// Gives the connection a name, and asks about the server.
    async fn introduce(&mut self, process: &str, timeout: Duration) -> Result<(), StoreError> {
        let mut pipeline = Pipeline::new();
        pipeline.cmd("CLIENT").arg("SETNAME").arg(visible(process)).cmd("INFO").arg("server");
        let replies = self.send_all(&pipeline, Some(timeout)).await?;
        let [Value::Okay | Value::ServerError(_), about] = &replies[..] else { return Err(StoreError::MALFORMED) };
        // Without the right to ask, the run and the age stay unknown.
        if error_of(about).is_none() {
            let about = text_of(about).ok_or(StoreError::MALFORMED)?;
            self.server = server(about)?;
            self.is_cluster = is_cluster(about);
        }
        Ok(())
    }

    /// Calls a script with the number of its keys, the keys, and the other arguments. An error of
    /// the server is a reply.
    ///
    /// The script is loaded if the server lacks it, or sent whole if the user must not load it. A
    /// call of a script that is missing has had no effect. If it is asking, the server also answers
    /// for a slot that is being moved to it.
    pub(crate) async fn call(
        &self,
        script: &Source,
        arguments: &[String],
        timeout: Option<Duration>,
        is_asking: bool,
    ) -> Result<Value, StoreError> {
        let mut reply = self.call_by(Way::Hash, script, arguments, timeout, is_asking).await?;
        for way in [Way::Loaded, Way::Text] {
            if error_of(&reply).is_none_or(|error| error.code() != "NOSCRIPT") {
                break;
            }
            // On a link that has ended, the reply may be that of another command.
            if self.life.is_over() {
                return Err(StoreError::UNREACHABLE);
            }
            reply = self.call_by(way, script, arguments, timeout, is_asking).await?;
        }
        Ok(reply)
    }

    async fn call_by(
        &self,
        way: Way,
        script: &Source,
        arguments: &[String],
        timeout: Option<Duration>,
        is_asking: bool,
    ) -> Result<Value, StoreError> {
        let mut pipeline = Pipeline::new();
        if way == Way::Loaded {
            pipeline.cmd("SCRIPT").arg("LOAD").arg(&*script.text);
        }
        if is_asking {
            pipeline.cmd("ASKING");
        }
        let (command, text) = if way == Way::Text { ("EVAL", &*script.text) } else { ("EVALSHA", &*script.hash) };
        pipeline.cmd(command).arg(text).arg(arguments);
        let mut replies = self.send_all(&pipeline, timeout).await?;
        let reply = replies.pop().ok_or(StoreError::MALFORMED)?;
        // Without the right to ask, an error only leads back to the server that has the slot.
        match replies.pop() {
            Some(refusal @ Value::ServerError(_)) if is_asking && error_of(&reply).is_some() => Ok(refusal),
            _ => Ok(reply),
        }
    }

    /// Sends a command. It takes its place among the others when this future is first polled.
    pub(crate) async fn send(&self, command: &Cmd) -> Result<Value, StoreError> {
        let mut connection = self.connection.clone();
        let sending = in_order(connection.send_packed_command(command));
        sending.await.map_err(|error| of_connection(&error))
    }

    /// Sends commands, between which no others of this connection come. Their errors are replies.
    pub(crate) async fn send_all(
        &self,
        pipeline: &Pipeline,
        timeout: Option<Duration>,
    ) -> Result<Vec<Value>, StoreError> {
        let mut connection = self.connection.clone();
        if let Some(timeout) = timeout {
            connection.set_response_timeout(timeout);
        }
        let count = pipeline.len();
        let replies = in_order(connection.send_packed_commands(pipeline, 0, count)).await;
        let replies = replies.map_err(|error| of_connection(&error))?;
        if replies.len() == count { Ok(replies) } else { Err(StoreError::MALFORMED) }
    }
}

/// Lets a future be polled also where tokio wants the task to pause: then its first poll would not
/// give the command its place.
#[cfg(feature = "tokio")]
fn in_order<F: Future>(sending: F) -> impl Future<Output = F::Output> {
    tokio::task::coop::unconstrained(sending)
}

#[cfg(not(feature = "tokio"))]
fn in_order<F: Future>(sending: F) -> impl Future<Output = F::Output> {
    sending
}

/// Hears the pushes of a server, in the task that reads.
pub(crate) trait Hearer: Send + Sync + 'static {
    fn push(&self, push: PushInfo);

    /// The connection has ended. It is called once, and only for one that is part of a link.
    fn end(&self);
}

/// Takes the pushes of a server, in the task that reads.
struct Pushes {
    life: Arc<Life>,
    hearer: Option<Arc<dyn Hearer>>,
}

impl AsyncPushSender for Pushes {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if push.kind == PushKind::Disconnection {
            self.end();
        } else if let Some(hearer) = &self.hearer {
            hearer.push(push);
        }
        Ok(())
    }
}

impl Pushes {
    fn end(&self) {
        if let (true, Some(hearer)) = (self.life.end(), &self.hearer) {
            hearer.end();
        }
    }
}

/// The task that reads has ended. Not each of its ends is a push.
impl Drop for Pushes {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a connection is part of a link: only then its end is that of the link.
#[derive(Default)]
pub(crate) struct Life(AtomicU8);

impl Life {
    const NEW: u8 = 0;
    const PART: u8 = 1;
    const OVER: u8 = 2;

    /// Makes the connection a part of its link, unless it is over.
    pub(crate) fn begin(&self) -> bool {
        self.0.compare_exchange(Self::NEW, Self::PART, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Returns whether the connection or its link is over.
    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::OVER
    }

    /// Returns whether it was a part of its link.
    pub(crate) fn end(&self) -> bool {
        self.0.swap(Self::OVER, Ordering::AcqRel) == Self::PART
    }
}

/// A text that CLIENT SETNAME takes.
fn visible(process: &str) -> String {
    let visible = process.bytes().take(100);
    visible.map(|byte| if byte.is_ascii_graphic() { char::from(byte) } else { '_' }).collect()
}

/// Returns a field of INFO.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// Whether slots can move. Valkey has another name for its mode since version 8.
fn is_cluster(info: &str) -> bool {
    field(info, "redis_mode").or_else(|| field(info, "server_mode")) != Some("standalone")
}

/// Reads INFO.
fn server(info: &str) -> Result<Server, StoreError> {
    let major = field(info, "redis_version").and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major < 7) {
        return Err(refused("UNSUPPORTED"));
    }
    // 40 digits, of which 16 are random enough.
    let run = field(info, "run_id").and_then(|run| u64::from_str_radix(run.get(..16)?, 16).ok());
    let age = field(info, "uptime_in_seconds").and_then(|seconds| seconds.trim().parse().ok());
    Ok(Server::new(run.map(RunId::from), age.map(Duration::from_secs)))
}

pub(crate) fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

pub(crate) fn error_of(value: &Value) -> Option<&redis::ServerError> {
    if let Value::ServerError(error) = value { Some(error) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        assert_eq!(visible("pay ments\n\u{e9}"), "pay_ments___");
        assert_eq!(visible(&"x".repeat(500)).len(), 100);
    }

    #[test]
    fn info_is_read_as_far_as_it_goes() {
        let info = "# Server\r\nredis_version:7.2.4\r\nrun_id:0123456789abcdef0123\r\nuptime_in_seconds:12\r\n";
        let whole = Server::new(Some(RunId::from(0x0123_4567_89ab_cdef)), Some(Duration::from_secs(12)));
        assert_eq!(server(info), Ok(whole));
        assert_eq!(server(""), Ok(Server::default()));
        assert_eq!(server("run_id:zz\nuptime_in_seconds:-1"), Ok(Server::default()));
        assert_eq!(server("run_id:0123\u{e9}"), Ok(Server::default()));
        assert_eq!(server("redis_version:6.2.1\r\n"), Err(refused("UNSUPPORTED")));
    }

    #[test]
    fn the_mode_of_a_server_has_two_names() {
        for name in ["redis_mode", "server_mode"] {
            assert!(!is_cluster(&format!("# Server\r\n{name}:standalone\r\n")), "{name}");
            assert!(is_cluster(&format!("# Server\r\n{name}:cluster\r\n")), "{name}");
        }
        assert!(is_cluster(""));
    }

    #[test]
    fn only_a_connection_that_is_part_of_a_link_ends_it() {
        let life = Life::default();
        assert!(!life.end());
        assert!(!life.begin());
        let life = Life::default();
        assert!(life.begin());
        assert!(life.end());
        assert!(!life.end());
    }
}
