//! The process' machine: what one process knows of one bulkhead, and what it sends.
//!
//! It is a plain value without clock and connection. Its inputs take the time of the process' own
//! clock, as a duration since any origin. After each input, the caller drains
//! [`poll_command`](Owner::poll_command) and [`poll_output`](Owner::poll_output), and calls
//! [`tick`](Owner::tick) when [`next_deadline`](Owner::next_deadline) comes.
//!
//! All that is known of a call is in one map from its id to its state, so a grant that is announced
//! twice, by a notice and by a beat, changes the state once.

mod answer;
mod beat;
mod call;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use call::Call;

use crate::{CallId, Command, Epoch, Era, Notice, Outcome, OwnerId, RunId, ServerTime, Terms, Token};

/// What a process declares about a bulkhead.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The process.
    pub owner: OwnerId,
    /// The limit, in units.
    pub limit: u64,
    /// Which declaration it is.
    pub config: u64,
    /// What must be equal in all processes.
    pub terms: Terms,
    /// The largest number of waiters of the whole fleet.
    pub queue: u64,
    /// The time from one beat to the next.
    pub beat: Duration,
    /// How long a call keeps asking while there is no link.
    pub patience: Duration,
    /// Whether a loss of data begins a quarantine.
    pub recovers: bool,
    /// A text for people about the process.
    pub info: Arc<str>,
}

/// What a process knows of one bulkhead of its fleet.
#[derive(Clone, Debug)]
pub struct Owner {
    declared: Declaration,
    /// The number of the last call. Where the server's time is known, numbers are microseconds of
    /// it, so that lists can say how long ago a call asked.
    seq: u64,
    /// The server's time as an answer told it, and when that came.
    clock: Option<(Duration, ServerTime)>,
    calls: BTreeMap<CallId, Call>,
    /// How many of them wait on the server.
    queued: usize,
    /// Before this time, no permit ends and no call loses its patience; `None` if that will not
    /// happen by itself. It may be too early: then nothing happens at that time.
    quiet_until: Option<Duration>,
    /// Calls that ask, with a command to be sent on this link. Some may have ended.
    asks: VecDeque<CallId>,
    /// Calls that have asked on this link, and have no answer.
    asking: BTreeSet<CallId>,
    /// What has to be given back on this link.
    releases: Vec<CallId>,
    /// These, and those with a release that has no answer on this link.
    returning: BTreeSet<CallId>,
    /// Whether what is given back may travel with a call that asks. Not after such a command was
    /// refused, until the next beat: a server without memory still takes releases alone.
    merges: bool,
    /// Calls that have ended and may have left something on the server, and until when an old
    /// command may arrive and do so again.
    gone: BTreeMap<CallId, Duration>,
    /// Calls for which an earlier link asked, without an answer, and until when that may arrive.
    doubtful: BTreeMap<CallId, Duration>,
    link: Link,
    /// Since when the bulkhead is not open on a link.
    closed_since: Duration,
    generation: u64,
    epoch: Option<Epoch>,
    /// When the last command was sent that was answered in this epoch.
    heard: Duration,
    /// The last token of the highest block.
    highest: Option<Token>,
    /// Commands without an answer, by their number, and when they were sent.
    sent: BTreeMap<u64, (Duration, Command)>,
    requests: u64,
    /// When the next beat is due. `None` while one is on the way.
    beat_at: Option<Duration>,
    /// When something expires on the server that a waiter of this process may wait for.
    reap_at: Option<Duration>,
    outputs: VecDeque<Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    /// The bulkhead has to be opened.
    New {
        run: Option<RunId>,
        young: bool,
    },
    /// The command that opens is on the way.
    Opening {
        run: Option<RunId>,
        young: bool,
    },
    Up {
        era: Era,
        young: bool,
    },
}

/// What comes of calls, and of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The call has its permit. Comes at most once for each call, and not after it was dropped.
    Granted(CallId),
    /// The server rejected the call.
    Rejected(CallId, Outcome),
    /// There is no link, or the server could not carry out the command.
    Unavailable(CallId),
    /// The cost of the waiting call is above the new limit.
    TooLarge(CallId),
    /// The permit of the call is no longer valid. It must be dropped all the same.
    Lost(CallId),
    /// The bulkhead is open on this link.
    Opened,
    /// The server refuses to open the bulkhead, or a command that it should carry out. The link
    /// must be ended, and another made later.
    Broken(Option<Outcome>),
}

impl Owner {
    /// Makes the machine, without a link.
    pub fn new(now: Duration, declared: Declaration) -> Self {
        Self {
            declared,
            seq: 0,
            clock: None,
            calls: BTreeMap::new(),
            queued: 0,
            quiet_until: None,
            asks: VecDeque::new(),
            asking: BTreeSet::new(),
            releases: vec![],
            returning: BTreeSet::new(),
            merges: true,
            gone: BTreeMap::new(),
            doubtful: BTreeMap::new(),
            link: Link::Down,
            closed_since: now,
            generation: 0,
            epoch: None,
            heard: Duration::ZERO,
            highest: None,
            sent: BTreeMap::new(),
            requests: 0,
            beat_at: None,
            reap_at: None,
            outputs: VecDeque::new(),
        }
    }

    /// Returns the numbers of the last call and of the last link.
    pub fn numbers(&self) -> (u64, u64) {
        (self.seq, self.generation)
    }

    /// Counts calls and links from these on. Another machine of this process and this name had them
    /// before, and its commands may still be on their way.
    pub fn number_after(&mut self, (seq, generation): (u64, u64)) {
        (self.seq, self.generation) = (self.seq.max(seq), self.generation.max(generation));
    }

    /// A call asks for a lease of `cost` units. It is rejected immediately if the bulkhead has not
    /// been open on a link for longer than a call has patience.
    pub fn want(&mut self, now: Duration, cost: u64, wait: bool) -> CallId {
        let time = self.clock.map(|(at, time)| u64::from(time.after(now.saturating_sub(at))));
        self.seq = time.unwrap_or_default().max(self.seq + 1);
        let id = CallId { owner: self.declared.owner, seq: self.seq, cost };
        if !self.is_up() && self.closed_since + self.declared.patience <= now {
            self.outputs.push_back(Output::Unavailable(id));
        } else {
            self.calls.insert(id, Call::Asking { since: now, wait, sent: None });
            self.asks.push_back(id);
            if !self.is_up() {
                self.look_at(now + self.declared.patience);
            }
        }
        id
    }

    /// A call has ended: its future or its permit was dropped. Unknown ids are ignored.
    pub fn end(&mut self, now: Duration, id: CallId) {
        match self.calls.remove(&id) {
            Some(Call::Asking { .. }) if self.asking.contains(&id) => _ = self.calls.insert(id, Call::Orphan),
            Some(Call::Queued { .. }) => {
                self.queued -= 1;
                self.give_back(now, id);
            }
            Some(Call::Asking { sent: Some(_), .. } | Call::Held { .. } | Call::Lost) => self.give_back(now, id),
            Some(Call::Orphan) => _ = self.calls.insert(id, Call::Orphan),
            Some(Call::Asking { sent: None, .. }) | None => {}
        }
    }

    /// There is a new link, to the given run of the server. Returns its generation.
    pub fn link_up(&mut self, now: Duration, run: Option<RunId>, young: bool) -> u64 {
        self.link_down(now);
        self.generation += 1;
        self.link = Link::New { run: run.filter(|_| self.declared.recovers), young };
        self.generation
    }

    /// The link has ended. What it did not answer may have happened or not, or happen later.
    pub fn link_down(&mut self, now: Duration) {
        if self.is_up() {
            self.closed_since = now;
        }
        self.link = Link::Down;
        self.beat_at = None;
        self.reap_at = None;
        // Calls that ask may lose their patience from now on.
        self.quiet_until = Some(now);
        self.asking.clear();
        self.returning.clear();
        let releases = std::mem::take(&mut self.releases);
        self.remember_all(now, releases);
        for (_, (_, command)) in std::mem::take(&mut self.sent) {
            match command {
                Command::Release { ids } => self.remember_all(now, ids),
                Command::Acquire { id, give_back, .. } => {
                    self.doubtful.insert(id, now + self.declared.terms.ttl);
                    self.remember_all(now, give_back);
                }
                _ => {}
            }
        }
        let orphans: Vec<_> = self.calls.iter().filter(|(_, call)| **call == Call::Orphan).map(|(id, _)| *id).collect();
        for id in orphans {
            self.calls.remove(&id);
            self.remember(now, id);
        }
        // Those that asked ask again, in their order, with the same ids.
        let mut asking: Vec<_> = self.calls.iter().filter(|(_, call)| matches!(call, Call::Asking { .. })).collect();
        asking.sort_by_key(|(id, _)| id.seq);
        self.asks = asking.into_iter().map(|(id, _)| *id).collect();
    }

    /// The link of a generation has received a notice.
    pub fn notice(&mut self, now: Duration, generation: u64, notice: Notice) {
        let Link::Up { era, .. } = self.link else { return };
        if generation != self.generation {
            return;
        }
        match notice {
            Notice::Granted { id, token, epoch } if epoch == era.epoch => self.granted(now, id, token),
            Notice::TooLarge { id } if matches!(self.calls.get(&id), Some(Call::Queued { .. })) => {
                self.calls.remove(&id);
                self.queued -= 1;
                self.outputs.push_back(Output::TooLarge(id));
            }
            _ => {}
        }
    }

    /// A waiter has a lease that is valid for the claim's time.
    fn granted(&mut self, now: Duration, id: CallId, token: Token) {
        let claim = self.declared.terms.claim;
        match self.calls.get(&id) {
            Some(Call::Queued { seen: since, .. } | Call::Asking { sent: Some(since), .. }) => {
                // After a pause, the next beat tells of the grant, and for how long it is valid.
                let deadline = *since + claim;
                if deadline > now {
                    self.hold(id, token, deadline);
                }
            }
            // No call waits for it: an old command arrived late, or a replica brought it back.
            Some(Call::Lost) | None => self.give_back(now, id),
            Some(Call::Held { .. } | Call::Orphan | Call::Asking { .. }) => {}
        }
    }

    /// Hands the permit out if that has not happened yet, and moves its deadline if it is known to
    /// be later.
    fn hold(&mut self, id: CallId, token: Token, deadline: Duration) {
        // The process may use all tokens of the block without telling.
        let last = u64::from(token).saturating_add(self.declared.terms.block - 1);
        self.highest = self.highest.max(Some(last.into()));
        match self.calls.get_mut(&id) {
            Some(Call::Held { token: held, deadline: before }) => {
                (*held, *before) = (token.max(*held), deadline.max(*before));
            }
            Some(call @ (Call::Asking { .. } | Call::Queued { .. })) => {
                self.queued -= usize::from(matches!(call, Call::Queued { .. }));
                *call = Call::Held { token, deadline };
                self.look_at(deadline);
                self.outputs.push_back(Output::Granted(id));
            }
            Some(Call::Orphan | Call::Lost) | None => {}
        }
    }

    /// Time has passed: permits end, calls lose their patience.
    pub fn tick(&mut self, now: Duration) {
        if self.quiet_until.is_none_or(|until| until > now) {
            return;
        }
        let is_up = self.is_up();
        let patience = self.declared.patience;
        let (mut impatient, mut lost) = (vec![], vec![]);
        self.quiet_until = None;
        for (id, call) in &mut self.calls {
            let end = match *call {
                Call::Held { deadline, .. } => deadline,
                Call::Asking { since, .. } if !is_up => since + patience,
                _ => continue,
            };
            if end > now {
                self.quiet_until = Some(self.quiet_until.map_or(end, |until| until.min(end)));
            } else if let Call::Held { .. } = call {
                *call = Call::Lost;
                lost.push(*id);
            } else {
                impatient.push(*id);
            }
        }
        for id in lost {
            self.lost(now, id);
        }
        for id in impatient {
            self.end(now, id);
            self.outputs.push_back(Output::Unavailable(id));
        }
    }

    /// Says that a permit is over. A replica may bring the call back as a lease or a waiter, which
    /// no call wants, so the beats list it as gone.
    fn lost(&mut self, now: Duration, id: CallId) {
        self.remember(now, id);
        self.outputs.push_back(Output::Lost(id));
    }

    /// A permit ends at this time, or a call loses its patience.
    fn look_at(&mut self, time: Duration) {
        self.quiet_until = Some(self.quiet_until.map_or(time, |until| until.min(time)));
    }

    /// Returns the next time at which [`tick`](Self::tick) should be called, and commands polled.
    pub fn next_deadline(&self) -> Option<Duration> {
        // Neither is sent while the bulkhead is not open.
        let commands = self.beat_at.into_iter().chain(self.reap_at.filter(|_| self.waits()));
        commands.filter(|_| self.is_up()).chain(self.quiet_until).min()
    }

    /// Returns what came of the inputs, in order.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns the token of a permit that is valid at `now`.
    pub fn token(&self, now: Duration, id: CallId) -> Option<Token> {
        match self.calls.get(&id) {
            Some(Call::Held { token, deadline }) if *deadline > now => Some(*token),
            _ => None,
        }
    }

    /// Returns the token of the call's permit, also if it is no longer valid.
    pub fn granted_token(&self, id: CallId) -> Option<Token> {
        match self.calls.get(&id) {
            Some(Call::Held { token, .. }) => Some(*token),
            _ => None,
        }
    }

    /// Returns whether the bulkhead is open on a link.
    pub fn is_up(&self) -> bool {
        matches!(self.link, Link::Up { .. })
    }

    /// Returns whether nothing is left to give back on this link.
    pub fn is_flushed(&self) -> bool {
        self.calls.is_empty() && self.releases.is_empty() && self.sent.is_empty()
    }

    /// Returns whether the call's lease is to be given back on this link, and no answer has come.
    pub fn is_giving_back(&self, id: CallId) -> bool {
        self.returning.contains(&id)
    }

    /// Returns until when the server may still have something of calls that have ended, if it may.
    pub fn gone_until(&self) -> Option<Duration> {
        self.gone.values().copied().max()
    }

    /// Returns whether the call has ended and the server may still have something of it.
    pub fn is_gone(&self, id: CallId) -> bool {
        self.gone.contains_key(&id)
    }

    /// Returns the calls that hold a permit that is not known to be lost.
    pub fn held(&self) -> impl Iterator<Item = CallId> + '_ {
        self.calls.iter().filter(|(_, call)| matches!(call, Call::Held { .. })).map(|(id, _)| *id)
    }

    /// Returns the calls that wait on the server.
    pub fn queued(&self) -> impl Iterator<Item = CallId> + '_ {
        self.calls.iter().filter(|(_, call)| matches!(call, Call::Queued { .. })).map(|(id, _)| *id)
    }

    /// Returns whether the permit of the call was handed out and is no longer valid.
    pub fn is_lost(&self, id: CallId) -> bool {
        self.calls.get(&id) == Some(&Call::Lost)
    }

    fn waits(&self) -> bool {
        self.queued > 0
    }

    /// Gives back whatever the server has of a call that has ended.
    fn give_back(&mut self, now: Duration, id: CallId) {
        if matches!(self.link, Link::Up { .. }) {
            self.releases.push(id);
            self.returning.insert(id);
        }
        // An earlier command may undo the release.
        if !matches!(self.link, Link::Up { .. }) || self.is_doubtful(now, id) {
            self.remember(now, id);
        }
    }

    /// Lists a call as gone in each beat, up to the first one that no old command can follow: a
    /// link that has ended delivers nothing after one ttl.
    fn remember(&mut self, now: Duration, id: CallId) {
        self.gone.insert(id, now + self.declared.terms.ttl);
    }

    fn remember_all(&mut self, now: Duration, ids: Vec<CallId>) {
        for id in ids {
            self.remember(now, id);
        }
    }

    /// Whether an earlier link may still deliver a command that asks for the call.
    fn is_doubtful(&self, now: Duration, id: CallId) -> bool {
        self.doubtful.get(&id).is_some_and(|until| *until > now)
    }
}
