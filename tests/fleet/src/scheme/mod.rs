//! Ways to share a limit, as a client sees them.

mod broadcast;
mod message;
mod ours;
mod polling;

use std::rc::Rc;
use std::time::Duration;

use crate::now;
use crate::record::Reply;
use crate::witness::Nanos;

pub use broadcast::Broadcast;
pub use message::Message;
pub use ours::Ours;
pub use polling::Polling;

/// Where all names of a contest are.
pub const NAMESPACE: &str = "contest";

/// The connection of one process to a shared limit.
pub trait Scheme: 'static {
    /// The permit of a call that was admitted.
    type Permit: Permit;

    /// Acquires, and waits up to a time if there is one.
    fn acquire(&self, cost: u16, wait: Option<Duration>) -> impl Future<Output = Result<Self::Permit, Refusal>>;

    /// Ends the session of the process, after all permits.
    fn close(&self) -> impl Future<Output = ()>;
}

/// The right to run.
pub trait Permit {
    /// The messages to the witness.
    fn reply(&self) -> Reply;

    /// Whether the process still believes in it.
    fn is_valid(&self) -> bool;

    /// Gives it back. Returns whether the server has confirmed that.
    fn release(self) -> impl Future<Output = bool>;
}

/// Why a call was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No unit is free.
    Saturated,
    /// Anything else.
    Other,
}

/// The commands of the references on the server.
trait Leases {
    /// Returns whether there was room for the lease.
    async fn insert(&self, lease: &str) -> redis::RedisResult<bool>;

    /// Removes a lease.
    async fn remove(&self, lease: &str) -> redis::RedisResult<()>;
}

/// The permit of a reference. It has no token, and never learns that its lease is over.
#[derive(Debug)]
pub struct Lease<S> {
    leases: Rc<S>,
    id: String,
    /// When the command was sent that brought it.
    sent: Nanos,
}

#[allow(private_bounds, reason = "only the two references implement it")]
impl<S: Leases> Lease<S> {
    /// Tries once.
    async fn attempt(leases: &Rc<S>) -> Result<Self, Refusal> {
        let (id, sent) = (format!("{:032x}", fastrand::u128(..)), now());
        match leases.insert(&id).await {
            Ok(true) => Ok(Lease { leases: Rc::clone(leases), id, sent }),
            Ok(false) => Err(Refusal::Saturated),
            Err(_) => Err(Refusal::Other),
        }
    }
}

#[allow(private_bounds, reason = "only the two references implement it")]
impl<S: Leases> Permit for Lease<S> {
    fn reply(&self) -> Reply {
        Reply::Admitted { not_before: self.sent, token: 0 }
    }

    fn is_valid(&self) -> bool {
        true
    }

    async fn release(self) -> bool {
        self.leases.remove(&self.id).await.is_ok()
    }
}

/// How the references connect: one connection for a process, without a delay by Nagle's algorithm.
async fn connect(
    url: &str,
    on_message: impl Fn() + Send + Sync + 'static,
) -> redis::RedisResult<redis::aio::MultiplexedConnection> {
    use redis::{IntoConnectionInfo, ProtocolVersion, PushInfo, PushKind, io::tcp::TcpSettings};
    let info = url.into_connection_info()?;
    let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    let on_push = move |push: PushInfo| {
        if push.kind == PushKind::Message {
            on_message();
        }
        Ok::<_, redis::aio::SendError>(())
    };
    let config = redis::AsyncConnectionConfig::new()
        .set_response_timeout(Some(Duration::from_secs(10)))
        .set_pipeline_buffer_size(4096)
        .set_push_sender(on_push);
    redis::Client::open(info.set_redis_settings(settings))?.get_multiplexed_async_connection_with_config(&config).await
}
