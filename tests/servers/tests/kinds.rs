//! Servers with users, with TLS, of an age, with a replica, and in a cluster.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use bulklink_servers::{Cluster, Connection, Data, Server, User, require};

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_service_has_the_least_rights() {
    let user = User::service("prod");
    let server = require!(Server::builder().acl(user.clone()).start());
    let mut connection = server.connect().unwrap();
    let mut call = |words: &[&str]| connection.call(words).unwrap();
    assert!(call(&["AUTH", &user.name, "another password"]).text().starts_with("WRONGPASS"));
    assert_eq!(call(&["AUTH", &user.name, &user.password]).text(), "OK");
    assert_eq!(call(&["ZADD", "bl:{prod:a}:L", "1", "x"]).text(), "1");
    for refused in [
        &["ZADD", "bl:{test:a}:L", "1", "x"][..],
        &["HSET", "other", "field", "1"],
        &["SPUBLISH", "bl:{test:a}:n:x", "g"],
        &["SSUBSCRIBE", "other"],
        &["GET", "bl:{prod:a}:L"],
        &["EVAL", "return 1", "0"],
        &["SCRIPT", "FLUSH"],
        &["FLUSHALL"],
        &["CONFIG", "GET", "maxmemory-policy"],
        &["KEYS", "*"],
    ] {
        assert!(call(refused).text().starts_with("NOPERM"), "{refused:?}");
    }
    assert!(server.url_of(&user).ends_with(&format!("?user={}&pass={}", user.name, user.password)));
}

#[test]
fn a_user_outlives_a_restart() {
    let user = User::service("prod");
    let mut server = require!(Server::builder().tcp().acl(user.clone()).start());
    server.restart(Data::Empty);
    let mut connection = Connection::tcp(server.port(), PATIENCE).unwrap();
    assert_eq!(connection.call(&["AUTH", &user.name, &user.password]).unwrap().text(), "OK");
    let port = server.port();
    assert_eq!(server.url_of(&user), format!("redis://{}:{}@127.0.0.1:{port}", user.name, user.password));
}

#[test]
fn tls_is_signed_by_the_authority() {
    let server = require!(Server::builder().tls().start());
    let place = server.url().replace("rediss://", "");
    let ping = |authority: &str| {
        let mut client = Command::new("sh");
        let script = "printf 'PING\r\nQUIT\r\n' | \
            openssl s_client -quiet -verify_return_error -verify_ip 127.0.0.1 -connect \"$1\" -CAfile \"$2\"";
        let output = client.args(["-c", script, "sh", &place, authority]).stderr(Stdio::null()).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    };
    assert_eq!(ping(&server.authority().to_string_lossy()), "+PONG\r\n+OK\r\n");
    let other = require!(Server::builder().tls().start());
    assert_eq!(ping(&other.authority().to_string_lossy()), "");
}

#[test]
fn an_aged_server_is_older_than_asked_for() {
    let mut server = require!(Server::builder().aged(Duration::from_secs(1)).start());
    let age = |server: &Server| server.info("uptime_in_seconds").unwrap().parse::<u32>().unwrap();
    assert!(age(&server) > 1);
    server.restart(Data::Empty);
    assert!(age(&server) > 1);
}

#[test]
fn a_replica_has_the_data_of_its_primary_and_can_take_its_place() {
    let mut primary = require!(Server::builder().tcp().start());
    primary.call(&["SET", "key", "value"]);
    let mut replica = require!(Server::builder().replica_of(&primary).start());
    assert_eq!(replica.call(&["GET", "key"]).text(), "value");
    assert!(replica.call(&["SET", "key", "other"]).text().starts_with("READONLY"));
    primary.kill();
    replica.promote();
    assert_eq!(replica.call(&["SET", "key", "other"]).text(), "OK");
    replica.restart(Data::Keep);
    assert_eq!(replica.call(&["GET", "key"]).text(), "other");
}

#[test]
fn three_nodes_share_all_slots_and_a_slot_can_move() {
    let mut cluster = require!(Cluster::start(3));
    let key = |number: u32| format!("key:{number}");
    let mut counts = [0; 3];
    for number in 0..60 {
        let owner = cluster.owner_of(&key(number));
        counts[owner] += 1;
        assert_eq!(cluster.nodes()[owner].call(&["SET", &key(number), "value"]).text(), "OK");
    }
    assert!(counts.iter().all(|&count| count > 5), "{counts:?}");
    let (from, to) = (cluster.owner_of(&key(0)), (cluster.owner_of(&key(0)) + 1) % 3);
    cluster.move_slot_of(&key(0), to);
    assert_eq!(cluster.owner_of(&key(0)), to);
    assert_eq!(cluster.nodes()[to].call(&["GET", &key(0)]).text(), "value");
    assert!(cluster.nodes()[from].call(&["GET", &key(0)]).text().starts_with("MOVED"));
    cluster.nodes_mut()[from].kill();
    assert!(cluster.nodes()[from].connect().is_err());
    assert_eq!(cluster.nodes()[to].call(&["PING"]).text(), "PONG");
}
