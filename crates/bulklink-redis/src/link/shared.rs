//! What all connections of a link share: to which of them the commands of a name go, the receiver
//! of notices, and whether the link still exists.
//!
//! The receiver is never called under the lock: it may take locks of its own, or drop the link.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulklink_fleet::{Name, ProcessId, Receiver, StoreError};
use redis::{PushInfo, PushKind, Value};

use super::node::{Hearer, Node, text_of};
use crate::decode;
use crate::keys::Keys;

/// The state of a link.
pub(crate) struct Shared(Mutex<State>);

struct State {
    /// `None` once the link has ended or was dropped.
    receiver: Option<Arc<dyn Receiver>>,
    /// How many notices the receiver is taking now.
    telling: usize,
    /// The link ended while the receiver took one.
    is_ending: bool,
    /// The names of channels, and the process.
    names: HashMap<String, (Name, ProcessId)>,
    /// The channels of which this link has asked to hear no more.
    leaving: HashSet<String>,
    routes: HashMap<Name, Route>,
    /// The first is the one that the store's URL names.
    nodes: Vec<Arc<Node>>,
}

/// Where the commands of a name go.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) node: Arc<Node>,
    /// Whether notices come from there.
    pub(crate) is_listened: bool,
}

impl Shared {
    pub(crate) fn new(receiver: Arc<dyn Receiver>) -> Arc<Self> {
        Arc::new(Shared(Mutex::new(State {
            receiver: Some(receiver),
            telling: 0,
            is_ending: false,
            names: HashMap::new(),
            leaving: HashSet::new(),
            routes: HashMap::new(),
            nodes: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the link still exists: otherwise an answer must not be believed.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.lock().check()
    }

    /// Adds a connection.
    pub(crate) fn adopt(&self, node: Node) -> Result<Arc<Node>, StoreError> {
        let mut state = self.lock();
        state.check()?;
        // Two names may have found their way to a server at the same time.
        if let Some(known) = state.nodes.iter().find(|known| known.address == node.address) {
            return Ok(Arc::clone(known));
        }
        if !node.life.begin() {
            return Err(StoreError::UNREACHABLE);
        }
        let node = Arc::new(node);
        state.nodes.push(Arc::clone(&node));
        Ok(node)
    }

    /// The connection to an address, if there is one.
    pub(crate) fn node_at(&self, address: &str) -> Option<Arc<Node>> {
        self.lock().nodes.iter().find(|node| node.address == address).cloned()
    }

    /// Where the commands of a name go, as far as is known.
    pub(crate) fn route(&self, name: &Name) -> Result<Route, StoreError> {
        let state = self.lock();
        state.check()?;
        if let Some(route) = state.routes.get(name) {
            return Ok(route.clone());
        }
        let node = state.nodes.first().ok_or(StoreError::UNREACHABLE)?;
        Ok(Route { node: Arc::clone(node), is_listened: false })
    }

    pub(crate) fn set_route(&self, name: &Name, node: &Arc<Node>, is_listened: bool) -> Result<(), StoreError> {
        let mut state = self.lock();
        state.check()?;
        let route = state.routes.entry(name.clone());
        let route = route.or_insert_with(|| Route { node: Arc::clone(node), is_listened });
        // A name that is listened to stays with its notices.
        if !route.is_listened {
            *route = Route { node: Arc::clone(node), is_listened };
        }
        Ok(())
    }

    /// Knows the channels of a name from now on, and returns them.
    pub(crate) fn add_channels(&self, name: &Name, process_id: ProcessId) -> [String; 2] {
        let keys = Keys::new(name);
        let channels = [keys.channel(process_id), keys.tight_channel()];
        self.lock().names.extend(channels.iter().map(|channel| (channel.clone(), (name.clone(), process_id))));
        channels
    }

    /// Forgets the channels of a name, and its place, and returns them.
    pub(crate) fn remove_channels(&self, name: &Name, process_id: ProcessId) -> [String; 2] {
        let keys = Keys::new(name);
        let channels = [keys.channel(process_id), keys.tight_channel()];
        let mut state = self.lock();
        for channel in &channels {
            state.names.remove(channel);
            state.leaving.insert(channel.clone());
        }
        let route = state.routes.remove(name);
        drop(state);
        drop(route);
        channels
    }

    fn has_asked_to_leave(&self, data: &[Value]) -> bool {
        let Some(channel) = data.first().and_then(text_of) else { return false };
        self.lock().leaving.remove(channel)
    }

    fn tell(&self, data: &[Value]) {
        let [Value::BulkString(channel), Value::BulkString(message)] = data else { return };
        let Ok(channel) = std::str::from_utf8(channel) else { return };
        let (receiver, (name, process)) = {
            let mut state = self.lock();
            let (Some(receiver), Some(known)) = (state.receiver.clone(), state.names.get(channel).cloned()) else {
                return;
            };
            state.telling += 1;
            (receiver, known)
        };
        // Others may publish on the channel too. A notice that is lost comes with the next beat.
        if let Ok(notice) = decode::notice(process, message) {
            receiver.notice(&name, notice);
        }
        let mut state = self.lock();
        state.telling -= 1;
        if state.is_ending && state.telling == 0 {
            drop(state);
            receiver.ended();
        }
    }

    /// The link was dropped: its receiver gets nothing more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_ending = false;
        let rest = (state.receiver.take(), state.clear());
        drop(state);
        drop(rest);
    }
}

impl Hearer for Shared {
    /// A server has pushed something. Called by the task that reads, so before the answers that
    /// follow on the connection are handed out.
    fn push(&self, push: PushInfo) {
        match push.kind {
            PushKind::SMessage => self.tell(&push.data),
            // Sent when a slot moves to another node: what it had is no longer heard. Besides,
            // `redis` takes it for the answer of the next command, and hands all further answers to
            // the wrong ones.
            PushKind::SUnsubscribe if self.has_asked_to_leave(&push.data) => {}
            PushKind::SUnsubscribe | PushKind::Disconnection => self.end(),
            _ => {}
        }
    }

    /// The link ends: its receiver learns it once, after all notices.
    fn end(&self) {
        let mut state = self.lock();
        let Some(receiver) = state.receiver.take() else { return };
        let rest = state.clear();
        state.is_ending = state.telling > 0;
        let is_last = !state.is_ending;
        drop(state);
        drop(rest);
        if is_last {
            receiver.ended();
        }
    }
}

impl State {
    fn check(&self) -> Result<(), StoreError> {
        if self.receiver.is_some() { Ok(()) } else { Err(StoreError::UNREACHABLE) }
    }

    /// Lets go of the connections: they end when nothing is on the way any more. Their tasks own
    /// this state, so they must be dropped outside the lock.
    fn clear(&mut self) -> (Vec<Arc<Node>>, HashMap<Name, Route>) {
        for node in &self.nodes {
            node.life.end();
        }
        (std::mem::take(&mut self.nodes), std::mem::take(&mut self.routes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use bulklink_fleet::Namespace;
    use bulklink_fleet::share::Notice;

    use super::*;

    /// Counts notices, and those that it should not get.
    #[derive(Default)]
    struct Ears {
        notices: AtomicUsize,
        ends: AtomicUsize,
        late: AtomicUsize,
    }

    impl Receiver for Ears {
        fn notice(&self, _: &Name, _: Notice) {
            // The end may come from another thread while this one is here.
            thread::yield_now();
            self.late.fetch_add(self.ends.load(Ordering::SeqCst), Ordering::SeqCst);
            self.notices.fetch_add(1, Ordering::SeqCst);
        }

        fn ended(&self) {
            self.ends.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn link() -> (Arc<Ears>, Arc<Shared>, PushInfo) {
        let ears = Arc::<Ears>::default();
        let shared = Shared::new(ears.clone());
        let process_id = ProcessId::from(1);
        let [channel, _] = shared.add_channels(&Name::new(&Namespace::new("test").unwrap(), "a").unwrap(), process_id);
        let message = "s 1 7 3 1000000 7 5 -1".to_owned();
        let data = [channel, message].map(|text| Value::BulkString(text.into_bytes())).into();
        (ears, shared, PushInfo { kind: PushKind::SMessage, data })
    }

    #[test]
    fn the_end_comes_once_and_after_all_notices() {
        let mut told = 0;
        for _ in 0..500 {
            let (ears, shared, push) = link();
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| (0..20).for_each(|_| shared.push(push.clone())));
                }
                for _ in 0..2 {
                    scope.spawn(|| {
                        while ears.notices.load(Ordering::SeqCst) < 10 {
                            thread::yield_now();
                        }
                        shared.end();
                    });
                }
            });
            assert_eq!((ears.ends.load(Ordering::SeqCst), ears.late.load(Ordering::SeqCst)), (1, 0));
            assert!(shared.check().is_err());
            told += ears.notices.load(Ordering::SeqCst);
        }
        assert!((5_000..20_000).contains(&told), "{told} notices of 20000, of which the end should cut some");
    }

    #[test]
    fn a_link_that_was_dropped_tells_nothing() {
        let (ears, shared, push) = link();
        shared.push(push.clone());
        shared.close();
        shared.push(push);
        shared.end();
        assert_eq!((ears.notices.load(Ordering::SeqCst), ears.ends.load(Ordering::SeqCst)), (1, 0));
    }
}
