//! A link on a server that is well.

use bulklink_fleet::Link;
use bulklink_fleet::share::Notice;
use bulklink_redis::{LeaseStore, Name, Namespace, RedisStore};
use bulklink_servers::{Server, require};
use futures_util::future::join_all;

use crate::world::{Process, Told, at, name, on_both};

on_both! {
    the_server_says_who_it_is_and_who_is_connected
    a_socket_and_a_port_reach_the_same_server
    all_names_of_a_namespace_are_found
    a_foreign_message_is_ignored
    a_name_that_rests_is_heard_no_more
    names_rest_while_others_are_in_use
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
    assert_eq!(store.names(Some(&namespace)).await, Ok(vec![]));
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
    assert_eq!(store.names(Some(&namespace)).await.as_ref(), Ok(&names));
    names.push(other);
    names.sort();
    assert_eq!(store.names(None).await, Ok(names));
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

/// Returns the number of channels that are listened to.
fn channels(server: &Server) -> usize {
    server.call(&["PUBSUB", "SHARDCHANNELS"]).list().len()
}

async fn a_name_that_rests_is_heard_no_more() {
    let server = require!(Server::start());
    let (one, two) = (at(&server.url(), 1).await, at(&server.url(), 2).await);
    let (a, b) = (name("a"), name("b"));
    assert_eq!((one.join(&a, 10).await, one.join(&b, 1).await), (Ok(10), Ok(1)));
    assert_eq!(channels(&server), 4);
    assert_eq!(one.state(&a, 0, 0).await, Ok(0));
    for _ in 0..2 {
        assert_eq!(one.link.unlisten(&a).await, Ok(()));
        assert_eq!(channels(&server), 2);
    }
    assert_eq!(one.state(&b, 1, 2).await, Ok(2));
    // It can be heard again, on the same connection.
    assert_eq!((two.join(&a, 10).await, one.join(&a, 1).await), (Ok(10), Ok(0)));
    assert_eq!(two.state(&a, 0, 0).await, Ok(0));
    one.ears.wait(|told| matches!(told, Told::Notice(about, Notice::Granted(_)) if *about == a));
    assert_eq!((one.ears.ends(), two.ears.ends()), (0, 0));
}

/// Answers keep their order on the connection.
async fn names_rest_while_others_are_in_use() {
    const NAMES: u64 = 100;
    let server = require!(Server::start());
    let process = at(&server.url(), 1).await;
    let names: Vec<_> = (0..NAMES).map(|number| name(&format!("n{number}"))).collect();
    for round in 1..=5 {
        let visit = async |number: u64| {
            let name = &names[usize::try_from(number).unwrap()];
            let units = u32::try_from(number % 10).unwrap();
            assert_eq!(process.join(name, units).await, Ok(units), "{name}");
            assert_eq!(process.state(name, 0, 0).await, Ok(0), "{name}");
            if number % 10 != round {
                assert_eq!(process.link.unlisten(name).await, Ok(()), "{name}");
            }
        };
        join_all((0..NAMES).map(visit)).await;
        assert_eq!(channels(&server), 2 * 10);
        join_all(names.iter().map(|name| process.link.unlisten(name))).await;
        assert_eq!((channels(&server), process.ears.told()), (0, vec![]));
    }
}
