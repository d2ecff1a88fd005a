//! A server that answers anything.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bulklink_redis::{Link, RedisStore, StoreError};

use crate::world::{Process, Told, name, on_both};

on_both! {
    no_handshake_makes_a_link
    no_answer_is_believed
    a_server_that_is_too_old_is_refused
}

/// Listens for ever, and answers each command as told. Returns the URL.
fn serve(answer: impl Fn(&[String]) -> Option<Vec<u8>> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(bytes) = command(&mut stream).and_then(|words| answer(&words)) {
                    if stream.get_mut().write_all(&bytes).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// Reads a command. `None` at the end.
fn command(stream: &mut impl BufRead) -> Option<Vec<String>> {
    let number = |stream: &mut dyn BufRead| {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        line.get(1..)?.trim().parse::<usize>().ok()
    };
    let count = number(stream)?;
    let mut words = vec![];
    for _ in 0..count {
        let mut bytes = vec![0; number(stream)? + 2];
        stream.read_exact(&mut bytes).ok()?;
        bytes.truncate(bytes.len() - 2);
        words.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    Some(words)
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
        let url = serve(move |_| Some(bytes.clone()));
        let store = RedisStore::builder(&url).connect_timeout(Duration::from_millis(200)).build().unwrap();
        match Process::connect(&store, 1).await {
            // Some of them pass for a HELLO and for scripts that are loaded.
            Ok(process) => {
                let listened = process.link.listen(&name("a")).await;
                assert!(listened.is_err(), "{shown:?}: {listened:?}");
                assert_eq!(process.ears.wait(1), [Told::Ended], "{shown:?}");
            }
            Err(error) => {
                assert!(
                    matches!(error, StoreError::Malformed | StoreError::Unreachable | StoreError::TimedOut),
                    "{error}"
                );
            }
        }
    }
}

async fn no_answer_is_believed() {
    for bytes in garbage() {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        let url = serve(move |words| match &*words[0] {
            "HELLO" => Some(b"%0\r\n".to_vec()),
            "SSUBSCRIBE" => {
                Some(format!(">3\r\n+ssubscribe\r\n${}\r\n{}\r\n:1\r\n", words[1].len(), words[1]).into_bytes())
            }
            "EVALSHA" => Some(bytes.clone()),
            _ => Some(b"+OK\r\n".to_vec()),
        });
        let process = Process::at(&url, 1).await;
        let name = name("garbage");
        process.link.listen(&name).await.unwrap();
        let error = process.call(&name, process.opening(1)).await.unwrap_err();
        assert!(matches!(error, StoreError::Malformed | StoreError::Unreachable), "{shown:?}: {error}");
        assert_eq!(process.ears.wait(1), [Told::Ended], "{shown:?}");
        assert_eq!(process.link.listen(&name).await, Err(StoreError::Unreachable));
        assert_eq!(process.ears.ends(), 1, "{shown:?}");
    }
}

async fn a_server_that_is_too_old_is_refused() {
    let url = serve(|words| match &*words[0] {
        "HELLO" => Some(b"%0\r\n".to_vec()),
        "INFO" => Some(b"$21\r\nredis_version:6.2.1\r\n\r\n".to_vec()),
        _ => Some(b"-ERR unknown\r\n".to_vec()),
    });
    let store = RedisStore::new(&url).unwrap();
    let refused = StoreError::Refused { code: "UNSUPPORTED".into() };
    assert_eq!(Process::connect(&store, 1).await.err(), Some(refused));
}
