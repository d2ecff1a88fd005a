//! Redirections of servers that are no cluster, one by one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bulklink_fleet::Link;
use bulklink_redis::StoreError;

use crate::fake::{answer, serve};
use crate::world::{Told, at, name, on_both};

on_both! {
    a_name_is_listened_to_where_its_key_is
    a_name_that_is_listened_to_is_not_followed
    a_redirection_in_a_circle_is_refused
    a_redirection_to_nowhere_is_no_answer
}

/// The commands that a server has got.
type Log = Arc<Mutex<Vec<String>>>;

/// A server that redirects these commands.
fn redirect(commands: &'static [&'static str], to: &str) -> (String, Log) {
    let (log, to) = (Log::default(), to.to_owned());
    let kept = Arc::clone(&log);
    let url = serve(move |words| {
        kept.lock().unwrap().push(words[0].clone());
        if commands.contains(&&*words[0]) {
            let address = to.strip_prefix("redis://").unwrap_or(&to);
            return format!("-MOVED 1 {address}\r\n").into_bytes();
        }
        answer(words)
    });
    (url, log)
}

fn has(log: &Log, command: &str) -> bool {
    log.lock().unwrap().iter().any(|got| got == command)
}

async fn a_name_is_listened_to_where_its_key_is() {
    let (primary, at_primary) = redirect(&[], "");
    // It lets its clients listen, as a replica does.
    let (replica, at_replica) = redirect(&["EXISTS", "EVALSHA"], &primary);
    let process = at(&replica, 1).await;
    let name = name("replica");
    process.link.listen(&name).await.unwrap();
    assert!(!has(&at_replica, "SSUBSCRIBE") && has(&at_primary, "SSUBSCRIBE"));
    // The answer is none of a script.
    assert_eq!(process.link.look(&name).await, Err(StoreError::MALFORMED));
    assert!(!has(&at_replica, "EVALSHA") && has(&at_primary, "EVALSHA"));
}

async fn a_name_that_is_listened_to_is_not_followed() {
    let (other, at_other) = redirect(&[], "");
    let (url, _) = redirect(&["EVALSHA"], &other);
    let process = at(&url, 1).await;
    let (listened, silent) = (name("a"), name("b"));
    process.link.listen(&listened).await.unwrap();
    assert_eq!(process.link.look(&listened).await, Err(StoreError::UNREACHABLE));
    assert_eq!(process.ears.wait(|told| *told == Told::Ended).len(), 1);
    assert!(!has(&at_other, "EVALSHA"));
    let process = at(&url, 1).await;
    assert_eq!(process.link.look(&silent).await, Err(StoreError::MALFORMED));
    assert!(has(&at_other, "EVALSHA"));
}

async fn a_redirection_in_a_circle_is_refused() {
    let moves = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&moves);
    let url = serve(move |words| match &*words[0] {
        "EXISTS" | "EVALSHA" => {
            counted.fetch_add(1, Ordering::Relaxed);
            b"-MOVED 1 :1\r\n".to_vec()
        }
        _ => answer(words),
    });
    // The host that answered, and a port on which nothing listens.
    let process = at(&url, 1).await;
    let refused = |code: &str| Err(StoreError::refused(code));
    assert_eq!(process.link.listen(&name("a")).await.map(|_| ()), refused("CLUSTERDOWN"));
    assert_eq!(process.link.look(&name("a")).await.map(|_| ()), refused("CLUSTERDOWN"));
    assert_eq!(moves.load(Ordering::Relaxed), 2);
    let own = Arc::new(Mutex::new(String::new()));
    let address = Arc::clone(&own);
    let url = serve(move |words| match &*words[0] {
        "EXISTS" | "EVALSHA" => format!("-MOVED 1 {}\r\n", address.lock().unwrap()).into_bytes(),
        _ => answer(words),
    });
    url.strip_prefix("redis://").unwrap().clone_into(&mut own.lock().unwrap());
    let process = at(&url, 1).await;
    assert_eq!(process.link.listen(&name("a")).await.map(|_| ()), refused("MOVED"));
    assert_eq!(process.link.look(&name("a")).await.map(|_| ()), refused("MOVED"));
    assert_eq!(process.ears.told(), []);
}

async fn a_redirection_to_nowhere_is_no_answer() {
    for text in ["-MOVED 1 nowhere\r\n", "-MOVED 1 nowhere:\r\n", "-MOVED 1 a:99999\r\n"] {
        let url = serve(move |words| match &*words[0] {
            "EXISTS" => text.as_bytes().to_vec(),
            _ => answer(words),
        });
        let process = at(&url, 1).await;
        assert_eq!(process.link.listen(&name("a")).await, Err(StoreError::MALFORMED), "{text}");
        assert_eq!(process.ears.wait(|told| *told == Told::Ended).len(), 1);
    }
}
