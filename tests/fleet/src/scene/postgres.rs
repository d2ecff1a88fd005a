//! The limit on PostgreSQL, beside the same on Redis: the promises must hold, and the rest is for
//! information.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Result, ensure};
use bulklink_postgres::Part;
use bulklink_servers::{Data, Postgres, Proxy};

use super::arena::{DELAY, TTL};
use super::chaos::{Ground, PAUSE, judged, storm};
use super::contended::overtaken_at_home;
use super::fail_fast::{attempts, excess};
use super::{Arena, Effort, Plan, Played, count, median, millis, ratio};
use crate::crew::Crew;
use crate::report::{Limit, Row};
use crate::scheme::NAMESPACE;
use crate::task::{Kind, Task};
use crate::witness::{Outcome, false_rejections, hand_offs, percentile, waits};

const GOAL: &str = "postgres";

/// A server of PostgreSQL, and a network to it.
#[derive(Debug)]
pub struct Postgresql<'a> {
    arena: &'a Arena,
    server: Postgres,
    proxy: Proxy,
    names: Cell<u32>,
}

impl<'a> Postgresql<'a> {
    /// Starts a server that waits for its disk, and the network. It is older than a lease.
    ///
    /// # Errors
    ///
    /// Fails if this machine has no server.
    pub fn start(arena: &'a Arena) -> Result<Self, bulklink_servers::Missing> {
        let server = Postgres::builder().durable().config("shared_buffers", "'128MB'").start()?;
        server.sql(&Part::Fleet.statements());
        server.sql(&Part::Fleet.grants("tests"));
        // Otherwise nothing would be granted for one lease.
        server.sql("INSERT INTO bulklink.run (id, began) VALUES (gen_random_uuid(), clock_timestamp())");
        std::thread::sleep(TTL);
        let proxy = Proxy::to(server.socket());
        proxy.delay(DELAY);
        Ok(Postgresql { arena, server, proxy, names: Cell::new(0) })
    }

    /// Makes a plan for Redis one for this server, over the same network.
    #[must_use]
    pub fn plan(&self, mut plan: Plan) -> Plan {
        let is_delayed = plan.task.url == self.arena.proxy.url();
        plan.task.url = if is_delayed { self.server.url_through(&self.proxy) } else { self.server.url() };
        plan.task.kind = Kind::Postgres;
        plan
    }
}

impl Ground for Postgresql<'_> {
    fn crew(&self) -> Result<Crew> {
        self.arena.crew()
    }

    fn task(&self) -> Task {
        self.names.set(self.names.get() + 1);
        let name = format!("storm-{}", self.names.get());
        Task { name, ..self.plan(self.arena.plan(Kind::Ours)).task }
    }

    fn network(&self) -> &Proxy {
        &self.proxy
    }

    fn restart(&mut self) {
        self.server.restart(Data::Keep);
    }

    fn entries(&self, task: &Task) -> Result<u64> {
        let row =
            self.server.value(&format!("SELECT data FROM bulklink.fleet WHERE name = '{NAMESPACE}:{}'", task.name));
        ensure!(!row.is_empty(), "there is no row of {}", task.name);
        let figures = row.lines().filter_map(|line| {
            let number = line.strip_prefix("s granted ").or_else(|| line.strip_prefix("s living "))?;
            number.parse::<u64>().ok()
        });
        Ok(figures.sum())
    }
}

pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    let mut server = Postgresql::start(arena)?;
    let redis = "on Redis";
    let mut rows = Vec::new();

    let fast = |arena: &Arena| attempts(arena, Kind::Ours, effort.attempts / 10, true);
    let (ours, theirs) = (arena.play_all(&server.plan(fast(arena)))?, arena.play_all(&fast(arena))?);
    let limit = fast(arena).task.limit;
    let wrong = ratio(count(false_rejections(&ours.calls, limit).len()), count(ours.calls.len())) * 100.0;
    let others = count(ours.calls.iter().filter(|call| call.outcome == Outcome::Refused).count());
    let zero = |what: &str, figure: f64| Row::new(GOAL, what, figure, "").limit(Limit::AtMost(0.0));
    rows.push(Row::new(GOAL, "fail-fast: certainly false rejections", wrong, "% of the attempts"));
    rows.push(zero("fail-fast: units above the limit", excess(&ours, limit)));
    rows.push(zero("fail-fast: rejections for other reasons", ratio(others, 1)));
    let attempted = |played: &Played| ratio(count(played.calls.len()), played.span.end - played.span.start) * 1e9;
    rows.push(Row::new(GOAL, "fail-fast: attempts", attempted(&ours), "/s").beside(attempted(&theirs), redis));

    let contended = || arena.plan(Kind::Ours);
    let crowd = [arena.play(&server.plan(contended()), effort.time)?, arena.play(&contended(), effort.time)?];
    rows.push(zero("contended: units above the limit", excess(&crowd[0], contended().task.limit)));
    rows.push(zero("contended: calls overtaken in their process", ratio(count(overtaken_at_home(&crowd[0])), 1)));
    let [rate, their_rate] = crowd.each_ref().map(Played::rate);
    rows.push(Row::new(GOAL, "contended: admissions", rate, "/s").beside(their_rate, redis));
    for (what, part) in [("p50", 0.5), ("p99", 0.99)] {
        let [wait, theirs] =
            crowd.each_ref().map(|played| millis(percentile(&waits(&played.calls, &played.span), part)));
        rows.push(Row::new(GOAL, format!("contended: wait {what}"), wait, "ms").beside(theirs, redis));
    }

    let one = || {
        let mut plan = arena.plan(Kind::Ours);
        (plan.task.limit, plan.task.clients, plan.task.hold) = (1, 8, Duration::from_millis(3));
        plan.task.is_strict = true;
        plan
    };
    let passed = |played: &Played| millis(percentile(&hand_offs(&played.calls, &played.span), 0.5));
    let (ours, theirs) = (arena.play(&server.plan(one()), effort.time)?, arena.play(&one(), effort.time)?);
    rows.push(Row::new(GOAL, "hand-off p50, RTT 0.5 ms", passed(&ours), "ms").beside(passed(&theirs), redis));

    for clients in [1, 16] {
        let free = || {
            let mut plan = arena.plan(Kind::Ours);
            (plan.task.limit, plan.task.hold, plan.task.clients) = (1_000, Duration::ZERO, clients);
            plan.task.url = arena.server.url();
            plan
        };
        let rate = |plan: &Plan| {
            let played = (0..effort.rounds).map(|_| anyhow::Ok(arena.play(plan, effort.time)?.rate()));
            anyhow::Ok(median(played.collect::<Result<_>>()?))
        };
        let (ours, theirs) = (rate(&server.plan(free()))?, rate(&free())?);
        let what = format!("free, no delay: admissions, {clients} clients a process");
        rows.push(Row::new(GOAL, what, ours, "/s").beside(theirs, redis));
    }

    let storm = storm(&mut server, effort.chaos, PAUSE)?;
    rows.extend(
        judged(GOAL, &storm, effort.chaos).into_iter().map(|row| Row { what: format!("chaos: {}", row.what), ..row }),
    );
    Ok(rows)
}
