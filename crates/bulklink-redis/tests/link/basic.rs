//! What a link does on a server that is well.

use bulklink_redis::{Link, Name, Namespace, RedisStore, StoreError};
use bulklink_servers::{Server, require};

use crate::world::{Process, at, is_granted, name, on_both};

on_both! {
    the_server_says_who_it_is_and_who_is_connected
    a_socket_and_a_port_reach_the_same_server
    all_names_of_a_namespace_are_found
    a_foreign_message_is_ignored
}

async fn the_server_says_who_it_is_and_who_is_connected() {
    let mut server = require!(Server::builder().aged(std::time::Duration::from_secs(1)).start());
    let process = at(&server.url(), 1).await;
    let known = process.link.listen(&name("a")).await.unwrap();
    let id = server.info("run_id").unwrap();
    assert_eq!(format!("{:016x}", u64::from(known.run.unwrap())), id[..16]);
    assert!((1..20).contains(&known.age.unwrap().as_secs()), "{known:?}");
    assert_eq!(process.link.listen(&name("b")).await, Ok(known));
    let clients = server.call(&["CLIENT", "LIST"]).text();
    assert!(clients.contains("name=process_1 "), "{clients}");
    server.restart(bulklink_servers::Data::Empty);
    let process = at(&server.url(), 1).await;
    assert_ne!(process.link.listen(&name("a")).await.unwrap().run, known.run);
}

async fn a_socket_and_a_port_reach_the_same_server() {
    let server = require!(Server::builder().tcp().start());
    let socket = format!("unix://{}", server.socket().display());
    let (first, second) = (at(&server.url(), 1).await, at(&socket, 2).await);
    let name = name("socket");
    let known = first.link.listen(&name).await.unwrap();
    assert_eq!(second.link.listen(&name).await.unwrap().run, known.run);
    assert_eq!(first.open(&name, 1).await, second.open(&name, 1).await);
    // Another database has other bulkheads, but the channels are those of the server.
    let third = at(&format!("{}/3", server.url()), 3).await;
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
    let process = at(&server.url(), 1).await;
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
