//! One run: open arrivals at a real gate, whose limit a controller sets, before a backend.
//!
//! The gate has the largest capacity, and the limit is a restriction of it, as a ceiling is in the
//! product. Everything is in virtual time and depends on plant, controller and seed only.

mod call;
mod event;
mod outcome;
mod server;

use std::mem;
use std::time::Duration;

use bulklink_core::{Answer, Gate, Instant, Limits, Request, Restriction};

use self::call::{Call, Calls};
use self::event::{Event, Events};
pub use self::outcome::Run;
use self::server::{Server, Start};
use crate::peers::{Controller, Outcome, Sample};
use crate::plant::Plant;
use crate::random::Random;

/// The largest limit, which is the capacity of the gate.
pub const MAX_LIMIT: u32 = 400;

/// How often the limit is noted, in seconds.
const NOTE: f64 = 0.1;

/// The pause before a call is tried again: its least time, and how much longer it may take.
const RETRY: (f64, f64) = (0.02, 0.03);

/// Runs a plant with a controller.
pub fn run(plant: &Plant, controller: &mut dyn Controller, seed: u64) -> Run {
    let mut simulation = Simulation::new(plant, controller, seed);
    simulation.run_to_end();
    simulation.close()
}

struct Simulation<'a> {
    plant: &'a Plant,
    controller: &'a mut dyn Controller,
    gate: Gate<u32>,
    limit: u32,
    server: Server<'a>,
    /// The next end of a call that shares the servers.
    next_shared: Option<f64>,
    events: Events,
    /// The time of the next event that is due, which is not moved when it comes later.
    due: f64,
    arrivals: Random,
    service: Random,
    calls: Calls,
    in_flight: u32,
    waiting: u32,
    /// Whether a call was rejected or began to wait since the last sample.
    is_pressed: bool,
    burst: u32,
    run: Run,
    // What happens to calls at this time.
    ended: Vec<u32>,
    entering: Vec<u32>,
    rejected: Vec<u32>,
    starting: Vec<u32>,
}

impl<'a> Simulation<'a> {
    fn new(plant: &'a Plant, controller: &'a mut dyn Controller, seed: u64) -> Self {
        let wait_limit = (plant.wait > 0.0).then(|| Duration::from_secs_f64(plant.wait));
        let limits = Limits::new(MAX_LIMIT as usize).with_waiting_room(plant.room).with_wait_limit(wait_limit);
        let limit = controller.limit().max(1);
        let mut simulation = Simulation {
            plant,
            controller,
            gate: Gate::new(limits).expect("the limits of a plant are valid"),
            limit,
            server: Server::new(&plant.backend),
            next_shared: None,
            events: Events::default(),
            due: f64::MAX,
            arrivals: Random::new(seed * 2 + 1),
            service: Random::new(seed * 2 + 1_000_003),
            calls: Calls::default(),
            in_flight: 0,
            waiting: 0,
            is_pressed: false,
            burst: plant.burst,
            run: Run::new(plant.end),
            ended: vec![],
            entering: vec![],
            rejected: vec![],
            starting: vec![],
        };
        simulation.restrict(0.0);
        simulation.events.add(0.0, Event::Arrive);
        simulation.events.add(0.0, Event::Note);
        for phase in plant.backend.phases.iter().filter(|phase| phase.from > 0.0) {
            simulation.events.add(phase.from, Event::Phase);
        }
        simulation
    }

    fn restrict(&mut self, now: f64) {
        let restriction = Restriction::new(self.limit as usize, "adaptive");
        self.gate.restrict(Some(restriction), instant(now));
    }

    fn run_to_end(&mut self) {
        while let Some(first) = self.events.first() {
            let shared = self.next_shared.filter(|end| *end < first);
            let now = shared.unwrap_or(first);
            if now > self.plant.end {
                break;
            }
            self.server.pass(now);
            let gave_up = if shared.is_some() {
                let call = self.server.end_shared();
                self.end_in_backend(call.expect("its end was planned"));
                false
            } else {
                let (_, event) = self.events.pop().expect("just seen");
                self.handle(event, now);
                matches!(event, Event::GiveUp(..))
            };
            self.end_calls(now, gave_up);
            self.enter_calls(now);
            self.wake_calls();
            self.turn_away(now);
            self.start_calls(now);
            self.plan(now);
        }
    }

    fn handle(&mut self, event: Event, now: f64) {
        match event {
            Event::Arrive => self.arrive(now),
            Event::Retry(call) => {
                self.calls.get(call).entered = now;
                self.run.retried += u64::from(self.calls.get(call).first >= self.plant.warm);
                self.entering.push(call);
            }
            Event::End(call) => {
                self.server.end();
                self.end_in_backend(call);
            }
            Event::Due => {
                if now >= self.due {
                    self.due = f64::MAX;
                }
                self.gate.advance(Some(instant(now)));
            }
            Event::Note => {
                self.run.note(now, self.limit);
                self.events.add(now + NOTE, Event::Note);
            }
            Event::Phase => {}
            Event::GiveUp(call, generation) => {
                let given_up = self.calls.get(call);
                if given_up.generation == generation && given_up.grant.is_some() {
                    given_up.has_failed = true;
                    self.ended.push(call);
                }
            }
        }
    }

    fn arrive(&mut self, now: f64) {
        let plant = self.plant;
        let count = if self.burst > 0 { mem::take(&mut self.burst) } else { plant.batch };
        let slow = plant.slow_share(now);
        for _ in 0..count {
            let is_slow = self.arrivals.unit() < slow;
            let work = self.draw(is_slow);
            let call = self.calls.add(Call::new(now, work, is_slow, 0));
            self.run.offered += u64::from(now >= plant.warm);
            self.entering.push(call);
        }
        let rate = plant.rate(now);
        let gap = if rate > 0.0 { self.arrivals.exponential() * f64::from(plant.batch) / rate } else { 0.05 };
        self.events.add(now + gap, Event::Arrive);
    }

    fn draw(&mut self, is_slow: bool) -> f64 {
        self.plant.backend.draw(&mut self.service) * if is_slow { self.plant.mix.factor } else { 1.0 }
    }

    fn end_in_backend(&mut self, number: u32) {
        let call = self.calls.get(number);
        call.is_in_backend = false;
        if call.is_abandoned {
            self.calls.free(number);
        } else if call.grant.is_some() {
            self.ended.push(number);
        }
    }

    /// Releases the slots of calls that ended, and lets the controller learn of them.
    fn end_calls(&mut self, now: f64, gave_up: bool) {
        let mut ended = mem::take(&mut self.ended);
        for number in ended.drain(..) {
            let call = self.calls.get(number);
            let (grant, has_failed) = (call.grant.take().expect("it is in flight"), call.has_failed);
            let sample = Sample {
                now,
                hold: now - call.started,
                wait: call.started - call.entered,
                in_flight: call.in_flight,
                in_flight_end: self.in_flight,
                waiting: self.waiting,
                pressed: mem::take(&mut self.is_pressed) || call.has_waited,
                outcome: if has_failed { self.plant.fails_as } else { Outcome::Success },
            };
            self.in_flight -= 1;
            self.gate.release(grant);
            self.controller.sample(&sample);
            self.follow(now);
            self.gate.advance(Some(instant(now)));
            self.settle(number, now, has_failed && gave_up);
        }
        self.ended = ended;
    }

    /// Sets the limit that the controller wants.
    fn follow(&mut self, now: f64) {
        let limit = self.controller.limit().max(1);
        if limit != self.limit {
            self.limit = limit;
            self.restrict(now);
        }
    }

    /// Counts a call that ended, and tries it again if its caller does.
    fn settle(&mut self, number: u32, now: f64, gave_up: bool) {
        let plant = self.plant;
        let call = self.calls.get(number);
        let (age, is_counted) = (now - call.first, call.first >= plant.warm);
        let in_time = !call.has_failed && age <= plant.deadline;
        self.run.ended(now, age, is_counted, call.has_failed, in_time);
        let (again, is_slow, tries) = (!in_time && call.tries < plant.retries, call.is_slow, call.tries);
        if !gave_up {
            if again {
                self.rejected.push(number);
            } else {
                self.calls.free(number);
            }
            return;
        }
        call.is_abandoned = call.is_in_backend;
        if !call.is_abandoned {
            self.calls.free(number);
        }
        if again {
            // Another call, as the backend works on this one.
            let work = self.draw(is_slow);
            let retry = self.calls.add(Call::new(now, work, is_slow, tries + 1));
            self.try_again(retry, now);
        }
    }

    fn try_again(&mut self, number: u32, now: f64) {
        let pause = RETRY.0 + RETRY.1 * self.service.unit();
        self.events.add(now + pause, Event::Retry(number));
    }

    fn enter_calls(&mut self, now: f64) {
        let mut entering = mem::take(&mut self.entering);
        for number in entering.drain(..) {
            let answer = self.gate.enter(&Request::new(), Some(instant(now))).expect("one unit is a valid cost");
            if let Answer::Queued(ticket) = &answer {
                *self.gate.waker_mut(ticket).expect("it waits") = Some(number);
                self.waiting += 1;
            }
            self.take(number, answer);
        }
        self.entering = entering;
    }

    fn wake_calls(&mut self) {
        while let Some(number) = self.gate.poll_wake() {
            let ticket = self.calls.get(number).ticket.take().expect("it waits");
            self.waiting -= 1;
            let answer = self.gate.collect(ticket);
            self.take(number, answer);
        }
    }

    fn take(&mut self, number: u32, answer: Answer) {
        let call = self.calls.get(number);
        match answer {
            Answer::Granted(grant) => {
                call.grant = Some(grant);
                self.in_flight += 1;
                self.starting.push(number);
                return;
            }
            Answer::Queued(ticket) => {
                call.ticket = Some(ticket);
                call.has_waited = true;
            }
            Answer::Rejected(_) => {
                self.run.refused += u64::from(call.first >= self.plant.warm);
                self.rejected.push(number);
            }
            Answer::NeedsNow => unreachable!("the time is known"),
        }
        self.is_pressed = true;
    }

    /// Lets callers try again, or leave.
    fn turn_away(&mut self, now: f64) {
        let mut rejected = mem::take(&mut self.rejected);
        for number in rejected.drain(..) {
            let call = self.calls.get(number);
            if call.tries < self.plant.retries {
                let again = Call::new(now + RETRY.0, call.work, call.is_slow, call.tries + 1);
                // Another generation: an earlier timeout does not end it.
                *call = Call { generation: call.generation + 1, ..again };
                self.try_again(number, now);
            } else {
                self.calls.free(number);
            }
        }
        self.rejected = rejected;
    }

    /// Begins the calls that were admitted.
    fn start_calls(&mut self, now: f64) {
        let lost = if self.starting.is_empty() { 0.0 } else { self.plant.backend.at(now).lost };
        let mut starting = mem::take(&mut self.starting);
        for number in starting.drain(..) {
            let call = self.calls.get(number);
            call.started = now;
            call.in_flight = self.in_flight;
            if self.plant.timeout > 0.0 {
                self.events.add(now + self.plant.timeout, Event::GiveUp(number, call.generation));
            }
            let is_lost = lost > 0.0 && self.service.unit() < lost;
            let start = if is_lost { Start::Never } else { self.server.begin(number, call.work, now) };
            call.is_in_backend = start != Start::Never;
            call.has_failed = matches!(start, Start::Fails(_));
            if let Start::Ends(end) | Start::Fails(end) = start {
                self.events.add(end, Event::End(number));
            }
        }
        self.starting = starting;
        self.server.hand_out(now, |call, end| self.events.add(end, Event::End(call)));
    }

    /// Plans the next end of a shared call, and of a wait.
    fn plan(&mut self, now: f64) {
        self.next_shared = self.server.next_end(now);
        if let Some(deadline) = self.gate.next_deadline() {
            // Not before it, however it is rounded.
            let due = deadline.as_nanos() as f64 / 1e9 + 2e-9;
            if due < self.due {
                self.due = due;
                self.events.add(due.max(now), Event::Due);
            }
        }
    }

    fn close(self) -> Run {
        let unfinished = self.calls.open_since(self.plant.warm);
        self.run.close(unfinished, self.plant.warm)
    }
}

fn instant(time: f64) -> Instant {
    Instant::from_nanos((time * 1e9) as u64)
}
