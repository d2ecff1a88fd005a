//! Random calls, and calls by hand, beside one gate.

use std::time::Duration;

use bulklink_core::{Answer, Calls, Gate, Grant, Instant, Limits, Request, Reserve, Ticket};
use bulklink_model::runner::config;
use proptest::prelude::*;

use crate::HOUR;
use crate::simulation::{MS, nanos};

/// The rest of a call's time, from nothing to years.
fn budgets() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 0_u64..100, 4 => 0_u64..20_000, 2 => 0..HOUR, 1 => 0_u64..1 << 62]
}

/// A gate with tickets that are collected as soon as they are settled.
struct World {
    gate: Gate<()>,
    calls: Calls,
    now: u64,
    /// When each of them came.
    tickets: Vec<(Ticket, u64)>,
    /// When each of them was granted.
    grants: Vec<(Grant, u64)>,
    longest_hold: u64,
    /// How long the operation took that ended last.
    last_hold: u64,
    /// How many calls a reserve has rejected.
    kept_out: u32,
}

impl World {
    fn new(slots: usize) -> Self {
        let gate = Gate::new(Limits::new(slots).with_waiting_room(8)).expect("valid");
        let calls = Calls::new(Reserve::Learnt);
        World { gate, calls, now: 1 << 32, tickets: vec![], grants: vec![], longest_hold: 0, last_hold: 0, kept_out: 0 }
    }

    fn at(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn until(&self, budget: u64) -> Request {
        Request::new().deadline(Instant::from_nanos(self.now + budget))
    }

    fn enter(&mut self, request: &Request) {
        let now = self.at();
        let answer = self.calls.enter(&mut self.gate, request, now).expect("not too many units");
        self.take(answer, self.now);
        self.collect();
    }

    fn take(&mut self, answer: Answer, came: u64) {
        match answer {
            Answer::Granted(grant) => {
                let since = came + grant.waited_nanos();
                self.grants.push((grant, since));
            }
            Answer::Queued(ticket) => self.tickets.push((ticket, came)),
            Answer::Rejected(rejection) => self.kept_out += u32::from(rejection.kept().is_some()),
            Answer::NeedsNow => unreachable!("the time is known"),
        }
    }

    fn collect(&mut self) {
        let now = self.at();
        self.calls.advance(&mut self.gate, now);
        for (ticket, came) in std::mem::take(&mut self.tickets) {
            let answer = self.calls.collect(&mut self.gate, ticket);
            self.take(answer, came);
        }
    }

    /// Ends the operation that has run for the longest time.
    fn end(&mut self) {
        let (grant, since) = self.grants.remove(0);
        self.note_hold(since);
        let now = self.at();
        self.gate.release(self.calls.end(grant, now));
        self.collect();
    }

    fn note_hold(&mut self, since: u64) {
        self.last_hold = self.now.saturating_sub(since);
        self.longest_hold = self.longest_hold.max(self.last_hold);
    }

    fn reserve(&mut self) -> u64 {
        let mut snapshot = self.gate.snapshot(None);
        self.calls.complete(&mut snapshot);
        u64::try_from(snapshot.reserve().as_nanos()).expect("it was made of one")
    }
}

/// Rejections teach while others are admitted, as time passes, and never otherwise.
#[test]
fn rejections_during_a_pause_or_out_of_order_leave_the_reserve() {
    let taught = || {
        let mut world = World::new(1);
        for _ in 0..30 {
            world.enter(&world.until(130 * MS));
            world.now += 50 * MS;
            world.end();
        }
        let reserve = world.reserve();
        (world, reserve)
    };
    let (mut world, before) = taught();
    world.gate.pause();
    for _ in 0..100 {
        world.enter(&world.until(130 * MS));
        world.now += 200 * MS;
        world.collect();
    }
    assert_eq!((world.kept_out, world.reserve()), (100, before), "a pause");

    let (mut world, before) = taught();
    world.enter(&Request::new());
    let now = world.at();
    let tickets = [100 * MS, 400 * MS].into_iter().cycle().take(8).map(|budget| {
        let request = world.until(budget);
        let answer = world.calls.enter(&mut world.gate, &request, now).expect("not too many units");
        let Answer::Queued(ticket) = answer else { panic!("it waits") };
        ticket
    });
    let tickets: Vec<_> = tickets.collect();
    world.enter(&Request::new());
    for wait in [100 * MS, 300 * MS] {
        world.now += wait;
        let now = world.at();
        world.calls.advance(&mut world.gate, now);
    }
    world.end();
    for ticket in tickets {
        assert!(matches!(world.calls.collect(&mut world.gate, ticket), Answer::Rejected(_)));
    }
    assert!(world.reserve() * 8 >= before * 7 - 8, "{before}, {}: once in that time", world.reserve());
}

#[derive(Clone, Debug)]
enum Step {
    Enter { budget: Option<u64>, leaving: Option<u64>, within: Option<u64>, cost: usize },
    End,
    Abandon,
    Cancel,
    Split,
    Merge,
    Pass(u64),
    PassBack(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let optional = |weight| prop::option::weighted(weight, budgets());
    let enter = (optional(0.9), optional(0.1), optional(0.1), 1_usize..=3);
    let enter = enter.prop_map(|(budget, leaving, within, cost)| Step::Enter { budget, leaving, within, cost });
    let step = prop_oneof![
        40 => enter,
        30 => Just(Step::End),
        4 => Just(Step::Abandon),
        4 => Just(Step::Cancel),
        4 => Just(Step::Split),
        4 => Just(Step::Merge),
        20 => prop_oneof![8 => 0_u64..10_000, 1 => 0..HOUR].prop_map(Step::Pass),
        1 => (0_u64..1_000).prop_map(Step::PassBack),
    ];
    prop::collection::vec(step, 0..800)
}

proptest! {
    #![proptest_config(config())]

    /// The first call of each period has a slot at once. Others wait behind it, with any deadline.
    /// Each lowers it by a 64th, or by an eighth of its operation.
    #[test]
    fn each_busy_period_lowers_a_reserve_above_all_holds(
        first in 1..HOUR,
        longest in 1_u64..20_000,
        periods in prop::collection::vec((0_u64..=8, prop::collection::vec((budgets(), 0_u64..=8), 0..4)), 0..400),
    ) {
        let mut world = World::new(1);
        // The second confirms the first.
        for _ in 0..2 {
            world.enter(&world.until(2 * first));
            world.now += first;
            world.end();
        }
        prop_assert!(world.reserve() >= first);
        let mut bound = nanos(world.reserve());
        for (eighths, behind) in periods {
            if world.reserve() <= longest {
                break;
            }
            world.enter(&world.until(2 * longest));
            for (budget, _) in &behind {
                world.enter(&world.until(*budget));
            }
            let mut holds = [eighths].into_iter().chain(behind.iter().map(|(_, eighths)| *eighths));
            while !world.grants.is_empty() {
                world.now += longest * holds.next().expect("a hold per call") / 8;
                world.end();
            }
            // Rounded down to nanoseconds.
            bound -= (bound.min(nanos(longest * eighths)) / 64.0 - 1.0).max(0.0);
            prop_assert!(nanos(world.reserve()) <= bound + 64.0, "{} after {eighths}, {behind:?}", world.reserve());
        }
    }

    /// Whatever calls ask for, and however they end: it is never much longer than the longest
    /// operation, and only the end of one lowers it, by a 64th and an eighth of this one at most,
    /// or a call that it rejects, by an eighth.
    #[test]
    fn the_reserve_is_bounded_by_holds(slots in 1_usize..4, steps in steps()) {
        let mut world = World::new(slots + 2);
        let (mut before, mut rises, mut is_confirmed) = (0_u64, 0, false);
        for step in steps {
            let now = world.at();
            (world.last_hold, world.kept_out) = (0, 0);
            match step {
                Step::Enter { budget, leaving, within, cost } => {
                    let request = budget.map_or(Request::new(), |budget| world.until(budget)).cost(cost);
                    let request = leaving.map_or(request, |nanos| request.leaving(Duration::from_nanos(nanos)));
                    world.enter(&within.map_or(request, |nanos| request.within(Duration::from_nanos(nanos))));
                }
                Step::End if !world.grants.is_empty() => world.end(),
                Step::Abandon if !world.grants.is_empty() => {
                    let (grant, _) = world.grants.remove(0);
                    world.gate.abandon(world.calls.abandon(grant, now));
                    world.collect();
                }
                Step::Cancel => {
                    if let Some((ticket, _)) = world.tickets.pop() {
                        world.calls.cancel(&mut world.gate, ticket, Some(now)).expect("the time is known");
                        world.collect();
                    }
                }
                Step::Split if !world.grants.is_empty() => {
                    let (grant, since) = world.grants.remove(0);
                    match world.calls.split(&mut world.gate, grant, 1) {
                        Ok((grant, part)) => world.grants.extend([(grant, since), (part, since)]),
                        Err(grant) => world.grants.push((grant, since)),
                    }
                }
                Step::Merge if world.grants.len() > 1 => {
                    let ((grant, since), (merged, of_merged)) = (world.grants.remove(0), world.grants.remove(0));
                    world.note_hold(of_merged);
                    world.grants.push((world.calls.merge(&mut world.gate, grant, merged, now), since));
                }
                Step::End | Step::Abandon | Step::Split | Step::Merge => {}
                Step::Pass(nanos) => world.now += nanos,
                Step::PassBack(nanos) => world.now -= nanos,
            }
            let (reserve, longest) = (world.reserve(), world.longest_hold.max(1));
            prop_assert!(reserve * 10 <= longest * 22, "{reserve}, of at most {longest}");
            let (lost, hold) = (before.saturating_sub(reserve), world.last_hold);
            let rejected = (0..world.kept_out).fold(0, |lost, _| lost + (before - lost) / 8);
            let taught = before.min(hold.saturating_mul(8)) / 64;
            // A shorter one replaces the first that teaches, until a second one has.
            prop_assert!(lost <= rejected + taught || !is_confirmed, "{before}, {reserve}");
            rises += u32::from(reserve > before);
            is_confirmed |= rises > 1 || lost > 0 && reserve == hold;
            before = reserve;
        }
    }
}
