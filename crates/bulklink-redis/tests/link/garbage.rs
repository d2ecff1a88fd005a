//! A server that answers anything.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use bulklink_fleet::Link;
use bulklink_redis::{RedisStore, StoreError};
use futures_util::future::poll_immediate;

use crate::fake::{self, serve};
use crate::world::{Process, Told, at, name, on_both};

on_both! {
    no_handshake_makes_a_link
    no_answer_is_believed
    a_call_is_not_sent_again_on_a_link_that_has_ended
    a_server_that_is_too_old_is_refused
}

/// What no server answers to any of our commands.
fn garbage() -> Vec<Vec<u8>> {
    let mut garbage: Vec<Vec<u8>> = [
        "+OK\r\n",
        ":1\r\n",
        "$-1\r\n",
        "_\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "*0\r\n",
        "*1\r\n:99\r\n",
        "*1\r\n*1\r\n:1\r\n",
        "%1\r\n+a\r\n:1\r\n",
        "~1\r\n:1\r\n",
        "\r\n",
        "?\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "*x\r\n",
        "$5\r\nab\r\n\r\n\r\n",
        "*1\r\n$1\r\n\u{e9}\r\n",
        "(123456789012345678901234567890\r\n",
        "=5\r\ntxt:a\r\n",
        ">1\r\n+sunsubscribe\r\n",
        "*10\r\n:1\r\n:1\r\n$1\r\n1\r\n:-1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:0\r\n",
        "*9223372036854775807\r\n+a\r\n?\r\n",
        ">3\r\n+ssubscribe\r\n+x\r\n:1\r\n",
        "%4611686018427387904\r\n?\r\n",
        "%9223372036854775807\r\n?\r\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    garbage.push("*1\r\n".repeat(500).into_bytes());
    garbage
}

async fn no_handshake_makes_a_link() {
    for bytes in garbage() {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        let url = serve(move |_| bytes.clone());
        let store = RedisStore::builder(&url).connect_timeout(Duration::from_millis(200)).build().unwrap();
        let error = Process::connect(&store, 1).await.err().unwrap();
        let known = [StoreError::MALFORMED, StoreError::UNREACHABLE, StoreError::TIMED_OUT];
        assert!(known.contains(&error), "{shown:?}: {error}");
    }
}

async fn no_answer_is_believed() {
    for bytes in garbage() {
        for garbled in ["SSUBSCRIBE", "SUNSUBSCRIBE", "EVALSHA"] {
            let shown = format!("{garbled}: {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
            let bytes = bytes.clone();
            let url = serve(move |words| if words[0] == garbled { bytes.clone() } else { fake::answer(words) });
            let process = at(&url, 1).await;
            let name = name("garbage");
            let listened = process.link.listen(&name).await.err();
            let error = match listened {
                None if garbled == "EVALSHA" => process.state(&name, 0, 1).await.err(),
                None if garbled == "SUNSUBSCRIBE" => process.link.unlisten(&name).await.err(),
                error => error,
            };
            let error = error.unwrap_or_else(|| panic!("{shown}"));
            assert!([StoreError::MALFORMED, StoreError::UNREACHABLE].contains(&error), "{shown}: {error}");
            assert_eq!(process.ears.wait(|told| *told == Told::Ended).len(), 1, "{shown}");
            assert_eq!(process.link.listen(&name).await, Err(StoreError::UNREACHABLE));
            assert_eq!(process.ears.ends(), 1, "{shown}");
        }
    }
}

async fn a_call_is_not_sent_again_on_a_link_that_has_ended() {
    let (calls, sent) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
    let (counted, both_are_sent) = (Arc::clone(&calls), Arc::clone(&sent));
    let url = serve(move |words| match &*words[0] {
        "EVALSHA" => match counted.fetch_add(1, Ordering::Relaxed) {
            0 => vec![],
            1 => {
                both_are_sent.wait();
                // Perhaps the error belongs to the call before, and this one was executed.
                b"+none\r\n-NOSCRIPT none\r\n".to_vec()
            }
            _ => b"-NOSCRIPT none\r\n".to_vec(),
        },
        _ => fake::answer(words),
    });
    let process = at(&url, 1).await;
    let names = [name("a"), name("b")];
    let (mut first, mut second) = (pin!(process.state(&names[0], 0, 1)), pin!(process.state(&names[1], 0, 1)));
    assert!(poll_immediate(&mut first).await.is_none() && poll_immediate(&mut second).await.is_none());
    sent.wait();
    assert_eq!(first.await, Err(StoreError::MALFORMED));
    assert_eq!(second.await, Err(StoreError::UNREACHABLE));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

async fn a_server_that_is_too_old_is_refused() {
    let url = serve(|words| match &*words[0] {
        "HELLO" => b"%0\r\n".to_vec(),
        "INFO" => b"$21\r\nredis_version:6.2.1\r\n\r\n".to_vec(),
        _ => b"-ERR unknown\r\n".to_vec(),
    });
    let store = RedisStore::new(&url).unwrap();
    let refused = StoreError::refused("UNSUPPORTED");
    assert_eq!(Process::connect(&store, 1).await.err(), Some(refused));
}
