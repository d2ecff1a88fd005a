//! What a link does on a server that is well.

use bulklink_redis::{Link, Name, Namespace, RedisStore};
use bulklink_servers::{Server, require};

use crate::world::{Process, at, name, on_both};

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
    assert_eq!((first.join(&name, 6).await, second.join(&name, 6).await), (Ok(6), Ok(4)));
    // Another database has other data, but the channels are those of the server.
    let third = at(&format!("{}/3", server.url()), 3).await;
    assert_eq!(third.link.look(&name).await, Ok(None));
    assert_eq!(third.join(&name, 6).await, Ok(6));
}

async fn all_names_of_a_namespace_are_found() {
    let server = require!(Server::start());
    let store = RedisStore::new(&server.url()).unwrap();
    let process = Process::connect(&store, 1).await.unwrap();
    let namespace = Namespace::new("test").unwrap();
    assert_eq!(store.names(&namespace).await, Ok(vec![]));
    let mut names: Vec<_> = (0..50).map(|number| name(&format!("a b{number}"))).collect();
    for name in &names {
        process.state(name, 0, 1).await.unwrap();
    }
    let other = Name::new(&Namespace::new("test-2").unwrap(), "other").unwrap();
    process.state(&other, 0, 1).await.unwrap();
    // Not ours, though they look like it.
    for key in ["bl:{test:%}:S", "bl:{test:a}:R", "bl:{test:x y}:S"] {
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
    process.join(&name, 1).await.unwrap();
    let channels = [format!("bl:{{{name}}}:n:{}", process.id), format!("bl:{{{name}}}:t")];
    for channel in channels {
        for message in ["", "s", "t", "nonsense", "s a b c", "t x", "s 1 2 3 4 5 6"] {
            assert_eq!(server.call(&["SPUBLISH", &channel, message]).text(), "1");
        }
    }
    assert_eq!(process.state(&name, 1, 2).await, Ok(2));
    assert_eq!(process.ears.told(), []);
}
