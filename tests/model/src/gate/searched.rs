//! The inputs that the exhaustive search tries in a gate's world.

use std::collections::BTreeMap;

use bulklink_core::plumbing::Fork;

use super::ask::Ask;
use super::model::{Id, Limited};
use super::restricted::Restricted;
use super::world::{Extra, Input, Start, World};
use crate::search;

impl search::World for World {
    type Start = Start;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        let mut world = World::new(start);
        forget_outputs(&mut world);
        world
    }

    fn fork(&self) -> Self {
        World {
            gate: self.gate.fork(),
            model: self.model.clone(),
            calls: self.calls.as_ref().map(Fork::fork),
            tickets: forked(&self.tickets),
            grants: forked(&self.grants),
            asked: self.asked.clone(),
            late: self.late.clone(),
            ..*self
        }
    }

    /// Returns every kind of request, every input for a ticket or a grant, and the passing of time.
    fn options(&self) -> Vec<Input> {
        let ask = Ask::ONE;
        let until = if self.deadlines {
            Ask { deadline: Some(self.now + 4), ..ask }
        } else {
            Ask { before: Some(self.now + 2), ..ask }
        };
        let mut options = vec![
            Input::Enter(ask),
            Input::Enter(Ask { cost: 2, ..ask }),
            Input::Enter(Ask { may_queue: false, ..ask }),
            Input::Enter(Ask { within: Some(1), ..ask }),
            Input::Enter(until),
            Input::Tick,
            Input::Advance,
            Input::Resize(self.model.limits.capacity % 3 + 1),
            Input::Resize((self.model.limits.capacity + 1) % 3 + 1),
        ];
        options.extend(self.tickets.keys().flat_map(|&id| [Input::Collect(id), Input::Cancel(id)]));
        options.extend(self.grants.keys().map(|&id| Input::Release(id)));
        if !self.model.closed {
            options.push(Input::Close);
        }
        options.push(Input::TickBack);
        if self.extra == Extra::Limits {
            options.extend(self.other_limits().map(Input::Reconfigure));
        }
        if self.extra == Extra::Parts {
            let grants: Vec<_> = self.grants.keys().copied().collect();
            options.extend(grants.iter().map(|&id| Input::Split(id, 1)));
            options.extend(grants.windows(2).map(|pair| Input::Merge(pair[0], pair[1])));
            options.extend(grants.iter().map(|&id| Input::WriteOff(id)));
        }
        if self.extra == Extra::Pauses {
            options.push(if self.model.paused { Input::Resume } else { Input::Pause });
        }
        if self.extra == Extra::Restrictions {
            let all = [None, Some(held(0, 0)), Some(held(1, 1)), Some(held(1, 2))];
            options.extend(all.into_iter().filter(|one| *one != self.model.restriction).map(Input::Restrict));
        }
        if self.extra == Extra::Fetches {
            let fetching = |units, wait, up_to| Some(Restricted { units, alone: units, fetch: Some((wait, up_to)) });
            let all = [None, Some(held(1, 1)), fetching(0, 1, 3), fetching(1, 2, 2)];
            options.extend(all.into_iter().filter(|one| *one != self.model.restriction).map(Input::Restrict));
            let ask = Ask { fetches: true, ..ask };
            options.extend([Input::Enter(ask), Input::Enter(Ask { may_queue: false, ..ask })]);
        }
        options
    }

    fn last_options(&self) -> Vec<Input> {
        let ask = Ask::ONE;
        let mut options = vec![
            Input::Enter(Ask { cost: 0, ..ask }),
            Input::Enter(Ask { cost: self.model.limits.capacity + 1, before: Some(self.now), ..ask }),
            Input::Enter(Ask { within: Some(0), ..ask }),
            Input::Enter(Ask { before: Some(self.now), ..ask }),
            Input::Resize(self.model.limits.capacity),
            Input::Resize(0),
        ];
        if self.deadlines {
            let whole = Ask { deadline: Some(self.now + 3), ..ask };
            let own = |own| Input::Enter(Ask { leaving: Some(own), ..whole });
            let limited = Ask { within: Some(1), ..whole };
            options.extend([own(0), own(2), own(9), Input::Enter(limited)]);
            options.push(Input::Enter(Ask { deadline: Some(self.now), ..ask }));
        }
        if self.extra == Extra::Limits {
            let limits = self.model.limits;
            let invalid = Limited { capacity: 0, waiting_room_units: Some(0), wait_limit: Some(0), ..limits };
            let roomless = Limited { waiting_room: 0, waiting_room_units: Some(1), ..limits };
            options.extend([limits, invalid, roomless].map(Input::Reconfigure));
        }
        if self.extra == Extra::Pauses {
            options.extend([Input::Pause, Input::Resume]);
        }
        if self.extra == Extra::Restrictions {
            options.extend([Some(held(0, 2)), Some(held(2, 1)), self.model.restriction].map(Input::Restrict));
            options.extend([Input::Pause, Input::Resume]);
        }
        if self.extra == Extra::Fetches {
            options.extend([Input::Pause, Input::Resume]);
            options.extend(
                [(2, None), (1, Some(0)), (2, Some(3))]
                    .map(|(cost, within)| Input::Enter(Ask { cost, within, fetches: true, ..ask })),
            );
        }
        if self.calls.is_some() {
            options.extend([Input::TakeBack(0), Input::TakeBack(1)]);
        }
        if self.extra == Extra::Parts {
            let grants: Vec<_> = self.grants.keys().copied().collect();
            options.extend(grants.iter().flat_map(|&id| [Input::Split(id, 0), Input::Split(id, 2)]));
            options.extend(grants.windows(2).map(|pair| Input::Merge(pair[1], pair[0])));
        }
        options.extend(self.grants.keys().map(|&id| Input::Abandon(id)));
        options
    }

    fn replay(&mut self, input: Input) {
        self.apply(input);
        forget_outputs(self);
    }

    fn check(&mut self, input: Input) {
        let past = self.model.history.len();
        self.apply(input);
        World::check(self, past);
    }
}

impl World {
    /// Returns the limits with another waiting room, with other bounds on the wait, and with all of
    /// them changed.
    fn other_limits(&self) -> [Limited; 3] {
        let limits = self.model.limits;
        let waiting_room = (limits.waiting_room + 1) % 3;
        let units = if limits.waiting_room_units.is_none() && waiting_room > 0 { Some(1) } else { None };
        let wait_limit = if limits.wait_limit.is_none() { Some(1) } else { None };
        let all = Limited { capacity: limits.capacity % 3 + 1, waiting_room, waiting_room_units: units, wait_limit };
        [Limited { waiting_room, waiting_room_units: None, ..limits }, Limited { wait_limit, ..limits }, all]
    }
}

/// A restriction for which no call waits by itself.
fn held(units: usize, alone: usize) -> Restricted {
    Restricted { units, alone, fetch: None }
}

fn forked<T: Fork>(all: &BTreeMap<Id, T>) -> BTreeMap<Id, T> {
    let mut copy = BTreeMap::new();
    copy.extend(all.iter().map(|(&id, one)| (id, one.fork())));
    copy
}

/// Drops the outputs that have not been polled.
fn forget_outputs(world: &mut World) {
    while world.gate.poll_wake().is_some() || world.gate.poll_event().is_some() {}
    world.model.woken.clear();
}
