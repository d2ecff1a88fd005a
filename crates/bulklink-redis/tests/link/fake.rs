//! A server that answers as a test wants.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;

use bulklink_redis::plumbing::Script;

/// Listens for ever, and answers each command as in the script. Returns the URL.
pub(crate) fn serve(answer: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(bytes) = command(&mut stream).map(|words| answer(&words)) {
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

/// The answer of a server that is well, to all but scripts.
pub(crate) fn answer(words: &[String]) -> Vec<u8> {
    let text = match &*words[0] {
        "HELLO" => "%0\r\n".to_owned(),
        "SSUBSCRIBE" => format!(">3\r\n+ssubscribe\r\n${}\r\n{}\r\n:1\r\n", words[1].len(), words[1]),
        "SCRIPT" => {
            let script = Script::ALL.into_iter().find(|script| script.text() == words[2]);
            format!("+{}\r\n", script.unwrap().hash())
        }
        "SUNSUBSCRIBE" => format!(">3\r\n+sunsubscribe\r\n${}\r\n{}\r\n:0\r\n", words[1].len(), words[1]),
        "INFO" => "$23\r\nredis_mode:standalone\r\n\r\n".to_owned(),
        "EXISTS" | "SPUBLISH" => ":1\r\n".to_owned(),
        _ => "+OK\r\n".to_owned(),
    };
    text.into_bytes()
}
