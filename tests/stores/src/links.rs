//! What links promise, whatever the store: one async function per test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use bulklink_fleet::share::{Difference, LimitRefusal, Notice, Refusal};
use bulklink_fleet::{LeaseStore, Link, Name, Receiver, StoreError};
use bulklink_servers::{Data, Proxy};
use futures_util::future::{join_all, maybe_done, poll_immediate};

use crate::{Process, Site, Told, name, pass, session, statement};

/// Units go from process to process.
pub async fn units_go_from_process_to_process(site: impl Site) {
    let (first, second) = (Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await);
    let name = name("payments");
    assert_eq!(first.join(&name, 10).await, Ok(10));
    let waiting = second.statement(0, 4);
    second.link.listen(&name).await.unwrap();
    assert_eq!(second.send(&name, waiting).await.unwrap().grant.units, 0);
    first.ears.wait(|told| matches!(told, Told::Notice(_, Notice::Tight(level)) if u32::from(*level) == 6));
    assert_eq!(first.state(&name, 6, 10).await, Ok(6));
    let grant = second.ears.granted();
    assert_eq!((grant.process, grant.seq, grant.units), (second.id, waiting.seq, 4));
    let status = first.look(&name).await;
    assert_eq!((status.granted, status.limit, status.rows.len()), (10, 10, 2));
    assert_eq!(status.rows.iter().find(|row| row.process == second.id).unwrap().granted, 4);
}

/// A name that rests is heard no more, until it is listened to again.
pub async fn a_name_that_rests_is_heard_again_when_it_is_listened_to(site: impl Site) {
    let (first, second) = (Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await);
    let [name, other] = ["rests", "other"].map(name);
    assert_eq!((first.join(&name, 10).await, first.join(&other, 1).await), (Ok(10), Ok(1)));
    assert_eq!(first.state(&name, 0, 0).await, Ok(0));
    assert_eq!((first.link.unlisten(&name).await, first.link.unlisten(&name).await), (Ok(()), Ok(())));
    assert_eq!(first.state(&other, 1, 2).await, Ok(2));
    assert_eq!((second.join(&name, 10).await, first.join(&name, 4).await), (Ok(10), Ok(0)));
    assert_eq!(second.state(&name, 6, 6).await, Ok(6));
    assert_eq!(first.ears.granted().units, 4);
}

/// A refusal has its reason, and the limit is changed by its version.
pub async fn refusals_name_both_sides(site: impl Site) {
    let (first, second) = (Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await);
    let name = name("refused");
    assert_eq!(first.link.look(&name).await, Ok(None));
    assert_eq!(first.link.resize(&name, 3, 1.into()).await, Ok(Err(LimitRefusal::Absent)));
    let stated = first.statement(0, 2);
    assert!(first.link.sync(&name, stated).await.unwrap().is_ok());
    assert_eq!(first.link.sync(&name, stated).await, Ok(Err(Refusal::Stale)));
    let mut other = second.statement(0, 1);
    other.declaration.limit = 11;
    let Ok(Err(Refusal::Conflict(conflict))) = second.link.sync(&name, other).await else { panic!("it conflicts") };
    assert_eq!(conflict.declarer, first.id);
    assert_eq!(conflict.difference, Difference::Limit { own: 11, fleet: 10 });
    let known = LimitRefusal::Version { current: 1.into(), limit: 10 };
    assert_eq!(second.link.resize(&name, 3, 7.into()).await, Ok(Err(known)));
    assert_eq!(second.link.resize(&name, 3, 1.into()).await, Ok(Ok(2.into())));
    assert_eq!(second.join(&name, 9).await, Ok(1), "the first has two of three");
}

/// More commands than tokio lets a task do in one go, and than some clients queue.
const MANY: usize = 600;

/// Commands take effect in the order of their first polls.
pub async fn commands_take_effect_in_the_order_of_their_first_polls(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let name = name("order");
    process.join(&name, 1).await.unwrap();
    let mut calls = vec![];
    for _ in 0..MANY {
        let mut call = Box::pin(maybe_done(process.link.sync(&name, process.statement(1, 1))));
        poll_immediate(&mut call).await;
        calls.push(call);
    }
    // Awaited in another order than that of the first polls. One that came before another that was
    // polled first would make that one an old one.
    for mut call in calls.into_iter().rev() {
        (&mut call).await;
        let answer = call.as_mut().take_output().unwrap().unwrap();
        assert_eq!(answer.map(|reply| reply.grant.units), Ok(1));
    }
}

/// No message comes after the link was dropped.
pub async fn nothing_is_told_after_the_link_was_dropped(site: impl Site) {
    let (process, other) = (Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await);
    let name = name("dropped");
    other.join(&name, 10).await.unwrap();
    process.join(&name, 1).await.unwrap();
    let ears = process.ears.clone();
    drop(process);
    let before = ears.told();
    other.state(&name, 0, 0).await.unwrap();
    // By then the connection is gone.
    while site.sessions().contains("process_1") {
        pass(Duration::from_millis(1)).await;
    }
    assert_eq!(ears.told(), before);
}

/// Drops its link when a message comes.
struct Dropper<L> {
    link: Mutex<Option<Arc<L>>>,
    weak: OnceLock<Weak<L>>,
    has_ended: AtomicBool,
}

impl<L: Link> Receiver for Dropper<L> {
    fn notice(&self, _: &Name, _: Notice) {
        drop(self.link.lock().unwrap().take());
    }

    fn ended(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

/// A receiver may drop the link.
pub async fn a_receiver_may_drop_the_link(site: impl Site) {
    let receiver =
        Arc::new(Dropper { link: Mutex::new(None), weak: OnceLock::new(), has_ended: AtomicBool::new(false) });
    let store = site.store();
    let link = Arc::new(store.connect(&session(1), receiver.clone()).await.unwrap());
    receiver.weak.set(Arc::downgrade(&link)).unwrap();
    let other = Process::on(&site.store(), 2).await;
    let name = name("dropper");
    other.join(&name, 10).await.unwrap();
    link.listen(&name).await.unwrap();
    link.sync(&name, statement(session(1).id, 0, 1)).await.unwrap().unwrap();
    *receiver.link.lock().unwrap() = Some(link);
    other.state(&name, 5, 5).await.unwrap();
    while receiver.weak.get().unwrap().strong_count() > 0 {
        pass(Duration::from_millis(1)).await;
    }
    assert!(!receiver.has_ended.load(Ordering::Relaxed));
}

/// A dropped future leaves the link as it was.
pub async fn a_dropped_future_leaves_the_link_as_it_was(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let name = name("futures");
    process.join(&name, 3).await.unwrap();
    for need in 1..=300 {
        let mut call = Box::pin(process.state(&name, 3, need % 10));
        poll_immediate(&mut call).await;
        drop(call);
        assert_eq!(process.state(&name, 3, 3).await, Ok(3));
    }
    assert_eq!((process.granted(&name).await, process.ears.grants()), (3, vec![]));
}

/// The link has ended, and answers so always and everywhere.
async fn assert_ended(process: &Process<impl Link>) {
    process.ears.wait(|told| *told == Told::Ended);
    assert_eq!(process.ears.told().last(), Some(&Told::Ended));
    for _ in 0..3 {
        let name = name("after");
        assert_eq!(process.link.listen(&name).await, Err(StoreError::UNREACHABLE));
        assert_eq!(process.state(&name, 0, 1).await, Err(StoreError::UNREACHABLE));
        assert_eq!(process.link.look(&name).await, Err(StoreError::UNREACHABLE));
    }
    assert_eq!(process.ears.ends(), 1);
}

/// A cut connection ends the commands on the way.
pub async fn a_cut_connection_ends_what_is_on_the_way(site: impl Site) {
    let proxy = Proxy::to(site.socket());
    let process = Process::on(&site.through(&proxy), 1).await;
    let names: Vec<_> = (0..10).map(|number| name(&format!("cut-{number}"))).collect();
    process.join(&names[0], 5).await.unwrap();
    proxy.black_hole();
    let mut calls: Vec<_> = names.iter().map(|name| Box::pin(process.state(name, 0, 1))).collect();
    for call in &mut calls {
        assert!(poll_immediate(call).await.is_none());
    }
    proxy.cut();
    for answer in join_all(calls).await {
        assert_eq!(answer, Err(StoreError::UNREACHABLE));
    }
    assert_ended(&process).await;
    proxy.heal();
    let next = Process::on(&site.through(&proxy), 1).await;
    assert_eq!(next.join(&names[0], 5).await, Ok(5));
}

/// A lost reply is an end, and the statement may have taken effect.
pub async fn a_lost_reply_is_an_end_and_the_command_may_have_happened(site: impl Site) {
    let proxy = Proxy::to(site.socket());
    let process = Process::on(&site.through(&proxy), 1).await;
    let name = name("lost");
    process.join(&name, 0).await.unwrap();
    proxy.drop_replies(1);
    assert_eq!(process.state(&name, 0, 4).await, Err(StoreError::UNREACHABLE));
    assert_ended(&process).await;
    let next = Process::on(&site.through(&proxy), 1).await;
    let granted = next.look(&name).await.granted;
    assert!([0, 4].contains(&granted), "{granted}");
    assert_eq!(next.state(&name, 0, 4).await, Ok(4), "what it kept nothing of is not there twice");
    assert_eq!(next.granted(&name).await, 4);
}

/// A black hole delays, and does not end.
pub async fn a_black_hole_delays_and_does_not_end(site: impl Site) {
    let proxy = Proxy::to(site.socket());
    let process = Process::on(&site.through(&proxy), 1).await;
    let name = name("hole");
    process.join(&name, 1).await.unwrap();
    proxy.black_hole();
    let mut call = Box::pin(process.state(&name, 1, 5));
    assert!(poll_immediate(&mut call).await.is_none());
    pass(Duration::from_millis(50)).await;
    assert!(poll_immediate(&mut call).await.is_none());
    proxy.heal();
    assert_eq!(call.await, Ok(5));
    assert_eq!(process.ears.ends(), 0);
}

/// A server that restarts is another one.
pub async fn a_server_that_restarts_is_another_one(mut site: impl Site) {
    let name = name("restart");
    let mut runs = vec![];
    for (data, units) in [(Data::Keep, Some(2)), (Data::Empty, None)] {
        let process = Process::on(&site.store(), 1).await;
        process.join(&name, 2).await.unwrap();
        runs.push(process.link.listen(&name).await.unwrap().run.unwrap());
        site.restart(data);
        assert_ended(&process).await;
        let next = Process::on(&site.store(), 1).await;
        assert_eq!(next.link.look(&name).await.unwrap().map(|status| status.granted), units);
        runs.push(next.link.listen(&name).await.unwrap().run.unwrap());
    }
    // The second link of the first turn, and the first of the second, are of one run.
    assert_eq!(runs[1], runs[2]);
    runs.dedup();
    assert_eq!(runs.len(), 3, "{runs:?}");
}

/// A grant passes a process that has ended.
pub async fn a_grant_passes_a_process_that_has_ended(site: impl Site) {
    let [first, dead, next] =
        [Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await, Process::on(&site.store(), 3).await];
    let name = name("ended");
    first.join(&name, 10).await.unwrap();
    for process in [&dead, &next] {
        assert_eq!(process.join(&name, 1).await, Ok(0));
    }
    drop(dead);
    while site.sessions().contains("process_2") {
        pass(Duration::from_millis(1)).await;
    }
    first.state(&name, 9, 9).await.unwrap();
    assert_eq!((next.ears.granted().units, first.granted(&name).await), (1, 10));
}

/// Sessions that the server ends are links that end.
pub async fn ended_sessions_end_their_links(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let name = name("killed");
    process.join(&name, 1).await.unwrap();
    site.end_sessions();
    // Though it sends nothing.
    assert_ended(&process).await;
    let next = Process::on(&site.store(), 1).await;
    assert_eq!(next.join(&name, 0).await, Ok(0));
    assert_eq!(next.granted(&name).await, 0);
}

/// A server that does not run is unreachable.
pub async fn a_server_that_is_gone_is_unreachable(mut site: impl Site) {
    let proxy = Proxy::to(site.socket());
    site.kill();
    for store in [site.store(), site.through(&proxy)] {
        assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::UNREACHABLE));
    }
}

/// Statements of several processes do not undo each other.
pub async fn commands_of_several_processes_do_not_undo_each_other(site: impl Site) {
    let name = name("several");
    let mut processes = vec![];
    for number in 1..=4 {
        let process = Process::on(&site.store(), number).await;
        process.join(&name, 0).await.unwrap();
        processes.push(process);
    }
    let turns = processes.iter().map(async |process| {
        for count in 0..100 {
            let kept = u32::from(count > 0) * 2;
            assert_eq!(process.state(&name, kept, 2).await, Ok(2));
        }
    });
    join_all(turns).await;
    assert_eq!(processes[0].granted(&name).await, 8);
}
