//! Measures how many calls are answered in time while far more come than the upstream can answer:
//! with a deadline for the admission, with one that leaves a fixed time, and with a deadline for
//! the whole call.
//!
//! The upstream answers over TCP after 50 ms. A bulkhead lets 16 calls in at a time, so at most 320
//! a second can be answered; 1,000 a second come. Each call is given up at its deadline.
//!
//! ```text
//! cargo run --release --example goodput
//! ```

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

const WORK: Duration = Duration::from_millis(50);
const SLOTS: usize = 16;
const WAITING_ROOM: usize = 32;
const CALLS_PER_SECOND: u32 = 1_000;
/// The time that a fixed reserve leaves for the upstream: its 50 ms, and the way there and back.
const FIXED: Duration = Duration::from_millis(55);

/// How a deadline for the whole call becomes a request for admission.
type Ask = fn(Instant) -> Request;

const ASKS: [(&str, Ask); 3] = [
    ("before(deadline)", |deadline| Request::new().before(deadline)),
    ("before(deadline - 55 ms)", |deadline| Request::new().before(deadline - FIXED)),
    ("deadline(deadline)", |deadline| Request::new().deadline(deadline)),
];

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    // A number of seconds as argument makes each run shorter or longer.
    let seconds = std::env::args().nth(1).map_or(Ok(4), |seconds| seconds.parse())?;
    let upstream = Upstream::start().await?;
    println!(
        "An upstream answers {SLOTS} calls at a time after {WORK:?}: {} a second. {CALLS_PER_SECOND} a second come.",
        SLOTS as u128 * 1_000 / WORK.as_millis()
    );
    println!("Six runs of {seconds} s. Calls a second:\n");
    println!("time for a call  request                    in time      in vain    rejected");
    let mut answered = Vec::new();
    for time in [80, 130].map(Duration::from_millis) {
        for (name, ask) in ASKS {
            let counts = run(&upstream, time, ask, seconds).await?;
            let [in_time, late, rejected] = counts.map(|count| count / seconds);
            println!("{time:>15?}  {name:<24}  {in_time:>8} /s  {late:>8} /s  {rejected:>8} /s");
            answered.push(in_time);
        }
    }
    let [before, _, deadline, ..] = answered[..] else { unreachable!("two times and three requests") };
    if deadline < 2 * before {
        eprintln!("goodput: {deadline} calls a second were answered in time, and {before} without a reserve");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Sends calls at a constant rate, whatever became of the earlier ones. Counts those answered in
/// time, those admitted and not answered in time, and those rejected.
async fn run(upstream: &Arc<Upstream>, time: Duration, ask: Ask, seconds: u32) -> Result<[u32; 3], Box<dyn Error>> {
    let bulkhead = Bulkhead::builder("upstream").parallelism(SLOTS).waiting_room(WAITING_ROOM).build()?;
    let start = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..CALLS_PER_SECOND * seconds {
        let due = start + Duration::from_secs(1) * number / CALLS_PER_SECOND;
        sleep_until(due).await;
        let (bulkhead, upstream, deadline) = (bulkhead.clone(), Arc::clone(upstream), due + time);
        calls.spawn(async move {
            let call = bulkhead.with(ask(deadline)).execute(timeout_at(deadline, upstream.call()));
            match call.await {
                Err(_rejected) => 2,
                Ok(Err(_too_late)) => 1,
                Ok(Ok(answer)) => answer.map_or(1, |()| 0),
            }
        });
    }
    let mut counts = [0; 3];
    calls.join_all().await.into_iter().for_each(|outcome: usize| counts[outcome] += 1);
    Ok(counts)
}

/// A server that answers each byte after [`WORK`], and the connections to it that are not in use.
struct Upstream {
    address: SocketAddr,
    idle: Mutex<Vec<TcpStream>>,
}

impl Upstream {
    async fn start() -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(answer(connection));
            }
        });
        Ok(Arc::new(Upstream { address, idle: Mutex::default() }))
    }

    /// Sends a byte and waits for the answer. A call that is dropped meanwhile closes its
    /// connection.
    async fn call(&self) -> io::Result<()> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => TcpStream::connect(self.address).await?,
        };
        connection.set_nodelay(true)?;
        connection.write_u8(1).await?;
        connection.read_u8().await?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(())
    }
}

async fn answer(mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    loop {
        let question = connection.read_u8().await?;
        sleep(WORK).await;
        connection.write_u8(question).await?;
    }
}
