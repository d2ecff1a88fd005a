//! The part of a link that its task shares: the receiver, and the names that it listens to.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulklink_fleet::share::Notice;
use bulklink_fleet::{Name, ProcessId, Receiver};

/// The receiver of a link.
///
/// Only the link's task delivers, so notices arrive in the order of its steps.
pub(crate) struct Shared {
    process: ProcessId,
    state: Mutex<State>,
}

struct State {
    /// `None` once the link has ended or was dropped.
    receiver: Option<Arc<dyn Receiver>>,
    names: HashSet<Name>,
}

impl Shared {
    pub(crate) fn new(process: ProcessId, receiver: Arc<dyn Receiver>) -> Arc<Self> {
        Arc::new(Shared { process, state: Mutex::new(State { receiver: Some(receiver), names: HashSet::new() }) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().receiver.is_none()
    }

    /// Delivers notices of this name from now on.
    pub(crate) fn listen(&self, name: &Name) {
        self.lock().names.insert(name.clone());
    }

    /// Delivers no more notices of this name.
    pub(crate) fn forget(&self, name: &Name) {
        self.lock().names.remove(name);
    }

    pub(crate) fn listens(&self, name: &Name) -> bool {
        self.lock().names.contains(name)
    }

    /// Delivers a notice. The receiver may drop the link, so no lock is held.
    pub(crate) fn tell(&self, name: &Name, notice: Notice) {
        let receiver = {
            let state = self.lock();
            state.names.contains(name).then(|| state.receiver.clone()).flatten()
        };
        if let Some(receiver) = receiver {
            receiver.notice(name, notice);
        }
    }

    /// The server has sent a message on the link's channel. Others may send there too:
    /// messages of another form are ignored.
    pub(crate) fn receive(&self, message: &str) {
        let Some((name, text)) = message.split_once(' ') else { return };
        let (Ok(name), Some(notice)) = (name.parse(), Notice::of_text(self.process, text)) else { return };
        self.tell(&name, notice);
    }

    /// The link has ended: its receiver learns it once, after all notices.
    pub(crate) fn end(&self) {
        let receiver = self.lock().receiver.take();
        if let Some(receiver) = receiver {
            receiver.ended();
        }
    }

    /// The link was dropped: its receiver gets nothing more.
    pub(crate) fn close(&self) {
        drop(self.lock().receiver.take());
    }
}
