//! The upstream of these scenes: a [`Station`] in real time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

use super::station::{Mark, Plan, Station};
use crate::overload::upstream::Begun;

/// An upstream whose time begins with the scene.
#[derive(Debug)]
pub struct Upstream {
    begin: Instant,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    station: Station,
    callers: HashMap<usize, oneshot::Sender<()>>,
}

impl Upstream {
    /// Makes an upstream without calls.
    #[must_use]
    pub fn new(plan: Plan, begin: Instant) -> Arc<Self> {
        let state = State { station: Station::new(plan), callers: HashMap::new() };
        Arc::new(Upstream { begin, state: Mutex::new(state), changed: Notify::new() })
    }

    /// Serves a call. If the future is dropped before the work begins, the call is forgotten.
    pub async fn serve(&self, call: usize, work: Duration) {
        let (caller, done) = oneshot::channel();
        {
            let mut state = self.state();
            let ended = state.station.arrive(self.now(), call, work.as_secs_f64());
            state.callers.insert(call, caller);
            state.answer(&ended);
        }
        self.changed.notify_one();
        let _gone = Gone { upstream: self, call };
        let _ = done.await;
    }

    /// Answers calls when their work is done, as long as it is polled. The ends are computed, so
    /// late timers do not reduce the throughput.
    pub async fn run(self: Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                let ended = state.station.advance(self.now());
                state.answer(&ended);
                state.station.next()
            };
            let wake = async {
                match next {
                    Some(next) => sleep_until(self.begin + Duration::from_secs_f64(next)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = wake => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Returns all work so far.
    #[must_use]
    pub fn begun(&self) -> Vec<Begun> {
        let state = self.state();
        let begun = state.station.begun().iter();
        begun.map(|Mark { call, at }| Begun { call: *call, at: self.begin + Duration::from_secs_f64(*at) }).collect()
    }

    fn now(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn answer(&mut self, ended: &[Mark]) {
        for Mark { call, .. } in ended {
            if let Some(caller) = self.callers.remove(call) {
                // The caller may have gone.
                let _ = caller.send(());
            }
        }
    }
}

/// Forgets a call whose caller has gone.
struct Gone<'a> {
    upstream: &'a Upstream,
    call: usize,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let mut state = self.upstream.state();
        if state.callers.remove(&self.call).is_some() {
            state.station.leave(self.call);
        }
    }
}
