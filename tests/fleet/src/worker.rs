//! A process with clients. Its parent writes `start` and `stop` to its standard input; it answers
//! `ready`, `done` and `closed`. When the input ends, because the parent is gone, it ends too.

use std::cell::RefCell;
use std::io::BufRead;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

use crate::now;
use crate::record::{Client, Log, Record, Reply};
use crate::scheme::{Broadcast, Message, Ours, Permit, Polling, Refusal, Scheme};
use crate::task::{Kind, Task};

/// The last command of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Wait,
    Start,
    Stop,
}

/// Does a task. The clients share one thread and one connection.
///
/// # Errors
///
/// Fails if there is no server, or no file can be written.
pub fn run(task: Task) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, orders) = watch::channel(Order::Wait);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = sender.send(if line == "start" { Order::Start } else { Order::Stop });
        }
        std::process::exit(1);
    });
    LocalSet::new().block_on(&runtime, async {
        let Task { url, name, limit, ttl, .. } = &task;
        match task.kind {
            Kind::Ours | Kind::Postgres => obey(Ours::connect(&task).await?, task, orders).await,
            Kind::Polling => obey(Polling::connect(url, name, *limit).await?, task, orders).await,
            Kind::Broadcast => obey(Broadcast::connect(url, name, *limit, *ttl, true).await?, task, orders).await,
            Kind::Latch => obey(Broadcast::connect(url, name, *limit, *ttl, false).await?, task, orders).await,
            Kind::Message => obey(Message::connect(&task).await?, task, orders).await,
        }
    })
}

async fn obey<S: Scheme>(scheme: S, task: Task, mut orders: watch::Receiver<Order>) -> Result<()> {
    let log = Log::create(&task.file, task.is_durable).context("the log cannot be created")?;
    let (log, task, scheme) = (Rc::new(RefCell::new(log)), Arc::new(task), Rc::new(scheme));
    println!("ready");
    orders.wait_for(|order| *order >= Order::Start).await?;
    let clients = task.clients().map(|client| {
        let worker = Worker { scheme: Rc::clone(&scheme), task: Arc::clone(&task), log: Rc::clone(&log), client };
        tokio::task::spawn_local(worker.work(orders.clone()))
    });
    for client in clients.collect::<Vec<_>>() {
        client.await?;
    }
    log.borrow_mut().flush()?;
    println!("done");
    // A worker with a number of calls is done before the command to stop.
    orders.wait_for(|order| *order == Order::Stop).await?;
    scheme.close().await;
    println!("closed");
    Ok(())
}

/// One client.
struct Worker<S> {
    scheme: Rc<S>,
    task: Arc<Task>,
    log: Rc<RefCell<Log>>,
    client: Client,
}

impl<S: Scheme> Worker<S> {
    async fn work(self, mut orders: watch::Receiver<Order>) {
        let mut random = fastrand::Rng::with_seed(u64::from(self.client.number));
        let mut calls = self.task.calls.unwrap_or(u64::MAX);
        // The clients do not begin in step.
        pause(spread(self.task.think, &mut random)).await;
        while calls > 0 && *orders.borrow() != Order::Stop {
            calls -= 1;
            let start = now();
            match self.scheme.acquire(self.client.cost, self.task.wait).await {
                Ok(permit) => {
                    self.write(Record::Answered { start, end: now(), reply: permit.reply() });
                    let hold = self.task.hold;
                    let hold = if self.task.is_random { spread(hold, &mut random) } else { hold };
                    self.hold(permit, hold, &mut orders).await;
                }
                Err(refusal) => {
                    let reply = if refusal == Refusal::Saturated { Reply::Saturated } else { Reply::Refused };
                    self.write(Record::Answered { start, end: now(), reply });
                }
            }
            pause(spread(self.task.think, &mut random)).await;
        }
    }

    /// Holds a permit for a time, or until the worker is stopped or the permit is lost.
    async fn hold(&self, permit: S::Permit, hold: Duration, orders: &mut watch::Receiver<Order>) {
        let (until, look) = (now() + nanos(hold), self.task.look.unwrap_or(hold));
        loop {
            let left = Duration::from_nanos(until.saturating_sub(now())).min(look);
            let stop = orders.wait_for(|order| *order == Order::Stop);
            let is_stopped = if left.is_zero() { false } else { timeout(left, stop).await.is_ok() };
            // The clock is read first: a permit that is valid afterwards was valid then.
            let start = now();
            let is_valid = permit.is_valid();
            if is_valid {
                self.write(Record::Valid { at: start });
            }
            if is_stopped || !is_valid || start >= until {
                let is_confirmed = permit.release().await;
                return self.write(Record::Released { start, end: now(), is_confirmed });
            }
        }
    }

    fn write(&self, record: Record) {
        self.log.borrow_mut().write(self.client, record);
    }
}

async fn pause(time: Duration) {
    if time.is_zero() {
        // Without it, clients that are always answered immediately would never let others run.
        tokio::task::yield_now().await;
    } else {
        sleep(time).await;
    }
}

/// A time from zero to twice the mean.
fn spread(mean: Duration, random: &mut fastrand::Rng) -> Duration {
    mean.mul_f64(random.f64() * 2.0)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
