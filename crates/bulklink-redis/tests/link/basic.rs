//! What a link does on a server that is well.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use bulklink_redis::{
    CallId, LeaseStore, Link, Name, Namespace, Notice, Outcome, Receiver, RedisLink, RedisStore, StoreError,
};
use bulklink_servers::{Server, require};
use futures_util::future::{maybe_done, poll_immediate};

use crate::world::{Process, Told, is_granted, name, on_both, session};

on_both! {
    a_lease_goes_from_process_to_process
    the_server_says_who_it_is_and_who_is_connected
    commands_take_effect_in_the_order_of_their_first_polls
    a_notice_comes_before_the_answers_that_follow_it
    nothing_is_told_after_the_link_was_dropped
    a_receiver_may_drop_the_link
    a_dropped_future_leaves_the_link_as_it_was
    a_socket_and_a_port_reach_the_same_server
    all_names_of_a_namespace_are_found
    a_foreign_message_is_ignored
}

async fn a_lease_goes_from_process_to_process() {
    let server = require!(Server::start());
    let (first, second) = (Process::at(&server.url(), 1).await, Process::at(&server.url(), 2).await);
    let name = name("payments");
    let epoch = first.open(&name, 1).await.unwrap();
    assert_eq!(second.open(&name, 1).await, Ok(epoch));
    assert!(is_granted(&first.acquire(&name, 1, epoch).await.unwrap()));
    let queued = second.acquire(&name, 1, epoch).await.unwrap();
    assert!(matches!(queued, Outcome::Queued { position: 0, .. }), "{queued:?}");
    let beaten = first.beat(&name, &[1], epoch).await.unwrap();
    assert!(matches!(&beaten, Outcome::Beaten { lost, owners: 2, .. } if lost.is_empty()), "{beaten:?}");
    assert_eq!(first.release(&name, 1).await, Ok(Outcome::Done));
    let told = second.ears.wait(1);
    let Told::Notice(about, Notice::Granted { id, epoch: of, .. }) = &told[0] else { panic!("{told:?}") };
    assert_eq!((about, *id, *of), (&name, second.id(1), epoch));
    assert_eq!(second.leases(&name).await, 1);
    assert_eq!(first.ears.told(), []);
}

async fn the_server_says_who_it_is_and_who_is_connected() {
    let mut server = require!(Server::builder().aged(std::time::Duration::from_secs(1)).start());
    let process = Process::at(&server.url(), 1).await;
    let known = process.link.listen(&name("a")).await.unwrap();
    let id = server.info("run_id").unwrap();
    assert_eq!(format!("{:016x}", u64::from(known.run.unwrap())), id[..16]);
    assert!((1..20).contains(&known.age.unwrap().as_secs()), "{known:?}");
    assert_eq!(process.link.listen(&name("b")).await, Ok(known));
    let clients = server.call(&["CLIENT", "LIST"]).text();
    assert!(clients.contains("name=process_1 "), "{clients}");
    server.restart(bulklink_servers::Data::Empty);
    let process = Process::at(&server.url(), 1).await;
    assert_ne!(process.link.listen(&name("a")).await.unwrap().run, known.run);
}

/// More commands than tokio lets a task do in one go, and than `redis` queues unless told to.
const MANY: u64 = 600;

async fn commands_take_effect_in_the_order_of_their_first_polls() {
    let server = require!(Server::start());
    let process = Process::at(&server.url(), 1).await;
    let name = name("order");
    let epoch = process.open(&name, 1).await.unwrap();
    let mut calls = vec![];
    for seq in 1..=MANY {
        let mut call = Box::pin(maybe_done(process.acquire(&name, seq, epoch)));
        poll_immediate(&mut call).await;
        calls.push((call, seq));
    }
    // Awaited in another order than that of the first polls.
    for (mut call, seq) in calls.into_iter().rev() {
        (&mut call).await;
        match call.as_mut().take_output().unwrap().unwrap() {
            Outcome::Granted { .. } => assert_eq!(seq, 1),
            Outcome::Queued { position, .. } => assert_eq!(position, seq - 2),
            other => panic!("{other:?}"),
        }
    }
}

async fn a_notice_comes_before_the_answers_that_follow_it() {
    let server = require!(Server::start());
    let process = Process::at(&server.url(), 1).await;
    let name = name("notices");
    let epoch = process.open(&name, 1).await.unwrap();
    process.acquire(&name, 0, epoch).await.unwrap();
    for seq in 1..=2000 {
        let queued = process.acquire(&name, seq, epoch);
        assert!(matches!(queued.await, Ok(Outcome::Queued { .. })));
        // Some servers send the notice before the answer to the release that causes it, others
        // right after. None sends it after the answer to a later command.
        assert_eq!(process.ears.granted().last().copied().unwrap_or_default(), seq - 1);
        assert_eq!(process.release(&name, seq - 1).await, Ok(Outcome::Done));
    }
    process.acquire(&name, 2001, epoch).await.unwrap();
    assert_eq!(process.ears.granted(), (1..=2000).collect::<Vec<_>>());
}

async fn nothing_is_told_after_the_link_was_dropped() {
    let server = require!(Server::start());
    let process = Process::at(&server.url(), 1).await;
    let other = Process::at(&server.url(), 2).await;
    let name = name("dropped");
    let epoch = process.open(&name, 1).await.unwrap();
    process.acquire(&name, 0, epoch).await.unwrap();
    process.acquire(&name, 1, epoch).await.unwrap();
    let ears = process.ears.clone();
    drop(process);
    let released = CallId { owner: session(1).owner, seq: 0, cost: 1 };
    other.call(&name, bulklink_redis::Command::Release { ids: vec![released] }).await.unwrap();
    // By then the connection is gone.
    while server.call(&["CLIENT", "LIST"]).text().contains("process_1 ") {
        smol::Timer::after(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(ears.told(), []);
}

/// Drops its link when it is told something.
#[derive(Default)]
struct Dropper {
    link: Mutex<Option<Arc<RedisLink>>>,
    weak: OnceLock<Weak<RedisLink>>,
    has_ended: AtomicBool,
}

impl Receiver for Dropper {
    fn notice(&self, _: &Name, _: Notice) {
        drop(self.link.lock().unwrap().take());
    }

    fn ended(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

async fn a_receiver_may_drop_the_link() {
    let server = require!(Server::start());
    let receiver = Arc::<Dropper>::default();
    let store = RedisStore::new(&server.url()).unwrap();
    let link = Arc::new(store.connect(&session(1), receiver.clone()).await.unwrap());
    receiver.weak.set(Arc::downgrade(&link)).unwrap();
    let other = Process::at(&server.url(), 2).await;
    let name = name("dropper");
    let epoch = other.open(&name, 1).await.unwrap();
    other.acquire(&name, 1, epoch).await.unwrap();
    link.listen(&name).await.unwrap();
    let id = CallId { owner: session(1).owner, seq: 1, cost: 1 };
    let era = bulklink_redis::Era { epoch, run: None };
    let terms = crate::world::TERMS;
    let acquire = bulklink_redis::Command::Acquire { id, wait: true, queue: 9, era, terms, give_back: vec![] };
    link.call(&name, acquire).await.unwrap();
    *receiver.link.lock().unwrap() = Some(link);
    other.release(&name, 1).await.unwrap();
    while receiver.weak.get().unwrap().strong_count() > 0 {
        smol::Timer::after(std::time::Duration::from_millis(1)).await;
    }
    assert!(!receiver.has_ended.load(Ordering::Relaxed));
}

async fn a_dropped_future_leaves_the_link_as_it_was() {
    let server = require!(Server::start());
    let process = Process::at(&server.url(), 1).await;
    let name = name("futures");
    let epoch = process.open(&name, 1000).await.unwrap();
    for seq in 1..=300 {
        let mut call = Box::pin(process.acquire(&name, 2 * seq, epoch));
        poll_immediate(&mut call).await;
        drop(call);
        let granted = process.acquire(&name, 2 * seq + 1, epoch).await.unwrap();
        assert!(is_granted(&granted), "{granted:?}");
    }
    // Each dropped one is there or not.
    assert!((300..=600).contains(&process.leases(&name).await));
    assert_eq!(process.ears.told(), []);
}

async fn a_socket_and_a_port_reach_the_same_server() {
    let server = require!(Server::builder().tcp().start());
    let socket = format!("unix://{}", server.socket().display());
    let (first, second) = (Process::at(&server.url(), 1).await, Process::at(&socket, 2).await);
    let name = name("socket");
    let known = first.link.listen(&name).await.unwrap();
    assert_eq!(second.link.listen(&name).await.unwrap().run, known.run);
    assert_eq!(first.open(&name, 1).await, second.open(&name, 1).await);
    // Another database has other bulkheads, but the channels are those of the server.
    let third = Process::at(&format!("{}/3", server.url()), 3).await;
    assert_eq!(third.leases(&name).await, 0);
    third.open(&name, 5).await.unwrap();
}

async fn all_names_of_a_namespace_are_found() {
    let server = require!(Server::start());
    let store = RedisStore::new(&server.url()).unwrap();
    let process = Process::connect(&store, 1).await.unwrap();
    let namespace = Namespace::new("test").unwrap();
    assert_eq!(store.names(&namespace).await, Ok(vec![]));
    let mut names: Vec<_> = (0..50).map(|number| name(&format!("a b{number}"))).collect();
    for name in &names {
        process.open(name, 1).await.unwrap();
    }
    let other = Name::new(&Namespace::new("test-2").unwrap(), "other").unwrap();
    process.open(&other, 1).await.unwrap();
    // Not ours, though they look like it.
    for key in ["bl:{test:%}:M", "bl:{test:a}:L", "bl:{test:x y}:M"] {
        server.call(&["SET", key, "1"]);
    }
    names.sort();
    assert_eq!(store.names(&namespace).await.as_ref(), Ok(&names));
    names.push(other);
    names.sort();
    assert_eq!(store.all_names().await, Ok(names));
}

async fn a_foreign_message_is_ignored() {
    let server = require!(Server::start());
    let process = Process::at(&server.url(), 1).await;
    let name = name("foreign");
    let epoch = process.open(&name, 1).await.unwrap();
    let channel = format!("bl:{{{name}}}:n:{}", process.owner);
    for message in ["", "g", "nonsense", "g a b c"] {
        assert_eq!(server.call(&["SPUBLISH", &channel, message]).text(), "1");
    }
    assert!(is_granted(&process.acquire(&name, 1, epoch).await.unwrap()));
    assert_eq!(process.ears.told(), []);
    let unknown = process.link.call(&name, bulklink_redis::Command::Status { offset: 0, count: 1 }).await;
    assert!(!matches!(unknown, Err(StoreError::Malformed)), "{unknown:?}");
}
