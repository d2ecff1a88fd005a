//! Bulklink on `wasm32-unknown-unknown`: hundreds of calls that run in order, and calls whose wait
//! a timer of the host ends. `test.mjs` is the host.

mod host;

use std::panic;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::Reason;
use bulklink::runtime::{Clock, Spawn, Timer};

use crate::host::{Bulkhead, Host};

mod imports {
    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        /// Prints UTF-8.
        // SAFETY: the host only reads so many bytes from there, which the caller must own.
        pub(super) unsafe fn print(text: *const u8, bytes: usize);
        pub(super) safe fn finish();
    }
}

const CALLS: usize = 300;
const HASTY: usize = 50;

/// How long an operation runs, and how long a hasty call waits.
const RUN: Duration = Duration::from_millis(1);
const LIMIT: Duration = Duration::from_millis(20);

/// Begins the scenes, and returns when they wait for the host.
///
/// # Panics
///
/// Never: the runtime refuses no task.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    panic::set_hook(Box::new(|panic| print(&panic.to_string())));
    Host.spawn(scenes()).expect("the runtime refuses no task");
    host::run();
}

async fn scenes() {
    in_order().await;
    expired().await;
    imports::finish();
}

/// Calls come in at once, two run, and the others follow in their order.
async fn in_order() {
    let pool = Bulkhead::builder("pool").parallelism(2).waiting_room(CALLS).wait_limit(Duration::from_secs(60));
    let pool = pool.build().expect("a valid configuration");
    let begun = Arc::new(Mutex::new(Vec::new()));
    let submit = |call| {
        let begun = Arc::clone(&begun);
        let operation = async move {
            begun.lock().expect("no operation panics").push(call);
            sleep(RUN).await;
        };
        pool.submit(operation).expect("the waiting room has a place for all")
    };
    let calls: Vec<_> = (0..CALLS).map(submit).collect();
    assert_eq!((pool.status().in_flight, pool.status().waiting), (2, CALLS - 2));
    for call in calls {
        call.await.expect("no call waits for a minute");
    }
    assert!(begun.lock().expect("no operation panics").iter().copied().eq(0..CALLS), "the calls begin in their order");
    let totals = pool.status().totals;
    assert_eq!((totals.admitted, totals.admitted_from_queue, totals.finished), (300, 298, 300));
    assert_eq!((pool.status().in_flight, pool.status().waiting, totals.rejected()), (0, 0, 0));
    print(&format!("{} calls in order, {} at once", totals.finished, pool.status().peak_in_flight));
}

/// One call runs, and the limit of each other ends its wait.
async fn expired() {
    let pool = Bulkhead::builder("pool").parallelism(1).waiting_room(HASTY).build().expect("a valid configuration");
    let slot = pool.try_slot().expect("no other call has begun");
    let start = Host.now();
    let waits: Vec<_> = (0..HASTY).map(|_| pool.within(LIMIT).submit(async {}).expect("a place to wait")).collect();
    for wait in waits {
        let rejection = wait.await.expect_err("the slot is in use");
        let rejection = rejection.rejection().expect("the call is rejected");
        assert_eq!(rejection.reason(), Reason::Expired);
        assert!(rejection.waited() >= LIMIT, "{rejection}");
    }
    let waited = Duration::from_nanos(Host.now().as_nanos() - start.as_nanos());
    assert!((LIMIT..LIMIT * 50).contains(&waited), "{waited:?}");
    drop(slot);
    let status = pool.status();
    assert_eq!((status.totals.admitted, status.totals.finished, status.totals.expired), (1, 1, 50));
    assert_eq!((status.in_flight, status.waiting), (0, 0));
    print(&format!("{} calls expired", status.totals.expired));
}

async fn sleep(duration: Duration) {
    Host.sleep_until(Host.now() + duration).await;
}

fn print(text: &str) {
    // SAFETY: the host only reads these bytes, during the call.
    unsafe { imports::print(text.as_ptr(), text.len()) }
}
