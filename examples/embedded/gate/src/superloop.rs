//! The loop around the gate: inputs, then advance, then the woken jobs. It does what the async
//! front does, without wakers.

use core::mem;

use board::say;
use bulklink_core::{Answer, Gate, Grant, Instant, InvalidArgument, Limits, Request};

use crate::job::Job;
use crate::script::{Input, JOBS};

/// A gate that parks the numbers of jobs.
pub(crate) struct Superloop {
    gate: Gate<usize>,
    jobs: [Job; JOBS.len()],
}

impl Superloop {
    pub(crate) fn new(limits: Limits) -> Result<Self, InvalidArgument> {
        Ok(Superloop { gate: Gate::new(limits)?, jobs: Default::default() })
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.gate.is_drained()
    }

    /// Handles an input from outside.
    pub(crate) fn take(&mut self, input: Input, now: u32) -> Result<(), InvalidArgument> {
        match input {
            Input::Ask { job, work } => self.ask(job, work, now)?,
            Input::Cancel { job } => self.cancel(job, now),
            Input::Close => {
                say!("{now:>4}  main: closes");
                self.gate.close(instant(now));
            }
        }
        Ok(())
    }

    /// Releases finished jobs' slots, advances the gate, and handles the jobs that it wakes.
    pub(crate) fn turn(&mut self, now: u32) {
        for (job, name) in self.jobs.iter_mut().zip(JOBS) {
            if let Some(grant) = job.end(now) {
                say!("{now:>4}  {name}: done");
                self.gate.release(grant);
            }
        }
        let is_due = self.gate.next_deadline().is_some_and(|deadline| deadline <= instant(now));
        if is_due || self.gate.wants_now() {
            self.gate.advance(Some(instant(now)));
        }
        while let Some(job) = self.gate.poll_wake() {
            self.collect(job, now);
        }
    }

    fn ask(&mut self, job: usize, work: u32, now: u32) -> Result<(), InvalidArgument> {
        let name = JOBS[job];
        match self.gate.enter(&Request::new(), Some(instant(now)))? {
            Answer::Granted(grant) => self.run(job, grant, work, now),
            Answer::Queued(ticket) => {
                say!("{now:>4}  {name}: waits");
                self.gate.waker_mut(&ticket).expect("it waits").replace(job);
                self.jobs[job] = Job::Waiting { ticket, work };
            }
            Answer::Rejected(rejection) => say!("{now:>4}  {name}: {:?}", rejection.reason()),
            Answer::NeedsNow => unreachable!("the time is given"),
        }
        Ok(())
    }

    fn run(&mut self, job: usize, grant: Grant, work: u32, now: u32) {
        say!("{now:>4}  {}: runs", JOBS[job]);
        self.jobs[job] = Job::Running { grant, until: now + work };
    }

    /// Cancels a waiting job. A job that runs already goes on to its end.
    fn cancel(&mut self, job: usize, now: u32) {
        match mem::take(&mut self.jobs[job]) {
            Job::Waiting { ticket, .. } => {
                _ = self.gate.cancel(ticket, Some(instant(now)));
                say!("{now:>4}  {}: gives up", JOBS[job]);
            }
            other => self.jobs[job] = other,
        }
    }

    /// Collects the ticket of a job, which the gate has settled.
    fn collect(&mut self, job: usize, now: u32) {
        let Job::Waiting { ticket, work } = mem::take(&mut self.jobs[job]) else { return };
        match self.gate.collect(ticket) {
            Answer::Granted(grant) => self.run(job, grant, work, now),
            Answer::Rejected(rejection) => {
                say!("{now:>4}  {}: {:?} after {:?}", JOBS[job], rejection.reason(), rejection.waited());
            }
            Answer::Queued(ticket) => self.jobs[job] = Job::Waiting { ticket, work },
            Answer::NeedsNow => unreachable!("collecting needs no time"),
        }
    }

    /// Prints the gate's counters.
    pub(crate) fn tell(&mut self, now: u32) {
        let snapshot = self.gate.snapshot(Some(instant(now)));
        let totals = &snapshot.totals;
        assert_eq!((snapshot.in_use, snapshot.waiting), (0, 0), "no slot is held and no job waits");
        say!(
            "counted: {} admitted, {} of them from the queue; {} rejected, {} cancelled",
            totals.admitted,
            totals.admitted_from_queue,
            totals.rejected(),
            totals.cancelled,
        );
    }
}

fn instant(millis: u32) -> Instant {
    Instant::from_nanos(u64::from(millis) * 1_000_000)
}
