//! What a link and its task share: the receiver, and what it was told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulklink_fleet::{Name, Notice, Receiver};

use super::row::{Row, number, read_notice};
use super::step::Me;

/// The receiver of a link, and what it was told.
///
/// Only the link's task tells, so what it does later is told later.
pub(crate) struct Shared(Mutex<State>);

struct State {
    /// `None` once the link has ended or was dropped.
    receiver: Option<Arc<dyn Receiver>>,
    /// The names that the link listens to, each with the number of the last notice that was told.
    names: HashMap<Name, u64>,
}

impl Shared {
    pub(crate) fn new(receiver: Arc<dyn Receiver>) -> Arc<Self> {
        Arc::new(Shared(Mutex::new(State { receiver: Some(receiver), names: HashMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().receiver.is_none()
    }

    /// Tells of this name from now on.
    pub(crate) fn listen(&self, name: &Name) {
        self.lock().names.entry(name.clone()).or_default();
    }

    pub(crate) fn listens(&self, name: &Name) -> bool {
        self.lock().names.contains_key(name)
    }

    /// Tells what a command has caused for its own process. The receiver may drop the link, so no
    /// lock is held.
    pub(crate) fn tell(&self, name: &Name, notice: Notice) {
        let receiver = self.lock().receiver.clone();
        if let Some(receiver) = receiver {
            receiver.notice(name, notice);
        }
    }

    /// Tells a notice of another process, unless it was told.
    fn tell_once(&self, name: &Name, number: u64, notice: Notice) {
        let mut state = self.lock();
        let is_new = state.names.get_mut(name).is_some_and(|seen| std::mem::replace(seen, number.max(*seen)) < number);
        drop(state);
        if is_new {
            self.tell(name, notice);
        }
    }

    /// Tells the notices in a row.
    pub(crate) fn catch_up(&self, name: &Name, me: &Me, row: &Row) {
        for (number, notice) in row.notices_for(me.line.key, 0) {
            self.tell_once(name, number, notice);
        }
    }

    /// The server has sent a message on the link's channel. Others may send there too: what has
    /// another form is ignored.
    pub(crate) fn receive(&self, message: &str) {
        let words: Vec<_> = message.split(' ').collect();
        let [count, name, notice @ ..] = &words[..] else { return };
        let (Ok(number), Ok(name), Ok(notice)) = (number(count), name.parse(), read_notice(notice)) else { return };
        self.tell_once(&name, number, notice);
    }

    /// The link has ended: its receiver is told so once, after all notices.
    pub(crate) fn end(&self) {
        let receiver = self.lock().receiver.take();
        if let Some(receiver) = receiver {
            receiver.ended();
        }
    }

    /// The link was dropped: its receiver is told nothing more.
    pub(crate) fn close(&self) {
        drop(self.lock().receiver.take());
    }
}
