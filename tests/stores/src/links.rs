//! What links promise, whatever the store: one async function per test.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use bulklink_fleet::{
    CallId, Command, Era, LeaseStore, Link, Name, Notice, Outcome, Receiver, ServerTime, StoreError, Table, Terms,
};
use bulklink_servers::{Data, Proxy};
use futures_util::future::{join_all, maybe_done, poll_immediate};

use crate::{Process, Script, Site, TERMS, Told, is_granted, name, pass, session};

/// A lease goes from process to process.
pub async fn a_lease_goes_from_process_to_process(site: impl Site) {
    let (first, second) = (Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await);
    let name = name("payments");
    let epoch = first.open(&name, 1).await.unwrap();
    assert_eq!(second.open(&name, 1).await, Ok(epoch));
    assert!(is_granted(&first.acquire(&name, 1, epoch).await.unwrap()));
    let queued = second.acquire(&name, 1, epoch).await.unwrap();
    assert!(matches!(queued, Outcome::Queued { position: 0, .. }), "{queued:?}");
    let beaten = first.beat(&name, &[1], epoch).await.unwrap();
    assert!(matches!(&beaten, Outcome::Beaten { lost, owners: 2, .. } if lost.is_empty()), "{beaten:?}");
    assert_eq!(first.release(&name, 1).await, Ok(Outcome::Done));
    let told = second.ears.wait(1);
    let Told::Notice(about, Notice::Granted { id, epoch: of, .. }) = &told[0] else { panic!("{told:?}") };
    assert_eq!((about, *id, *of), (&name, second.id(1), epoch));
    assert_eq!(second.leases(&name).await, 1);
    assert_eq!(first.ears.told(), []);
}

/// More commands than tokio lets a task do in one go, and than some clients queue.
const MANY: u64 = 600;

/// Commands take effect in the order of their first polls.
pub async fn commands_take_effect_in_the_order_of_their_first_polls(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let name = name("order");
    let epoch = process.open(&name, 1).await.unwrap();
    let mut calls = vec![];
    for seq in 1..=MANY {
        let mut call = Box::pin(maybe_done(process.acquire(&name, seq, epoch)));
        poll_immediate(&mut call).await;
        calls.push((call, seq));
    }
    // Awaited in another order than that of the first polls.
    for (mut call, seq) in calls.into_iter().rev() {
        (&mut call).await;
        match call.as_mut().take_output().unwrap().unwrap() {
            Outcome::Granted { .. } => assert_eq!(seq, 1),
            Outcome::Queued { position, .. } => assert_eq!(position, seq - 2),
            other => panic!("{other:?}"),
        }
    }
}

/// A notice comes before the answers that follow it.
pub async fn a_notice_comes_before_the_answers_that_follow_it(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let name = name("notices");
    let epoch = process.open(&name, 1).await.unwrap();
    process.acquire(&name, 0, epoch).await.unwrap();
    for seq in 1..=2000 {
        let queued = process.acquire(&name, seq, epoch);
        assert!(matches!(queued.await, Ok(Outcome::Queued { .. })));
        // Some servers send the notice before the answer to the release that causes it, others
        // right after. None sends it after the answer to a later command.
        assert_eq!(process.ears.granted().last().copied().unwrap_or_default(), seq - 1);
        assert_eq!(process.release(&name, seq - 1).await, Ok(Outcome::Done));
    }
    process.acquire(&name, 2001, epoch).await.unwrap();
    assert_eq!(process.ears.granted(), (1..=2000).collect::<Vec<_>>());
}

/// Nothing is told after the link was dropped.
pub async fn nothing_is_told_after_the_link_was_dropped(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let other = Process::on(&site.store(), 2).await;
    let name = name("dropped");
    let epoch = process.open(&name, 1).await.unwrap();
    process.acquire(&name, 0, epoch).await.unwrap();
    process.acquire(&name, 1, epoch).await.unwrap();
    let ears = process.ears.clone();
    drop(process);
    let released = CallId { owner: session(1).owner, seq: 0, cost: 1 };
    other.call(&name, Command::Release { ids: vec![released] }).await.unwrap();
    // By then the connection is gone.
    while site.sessions().contains("process_1") {
        pass(Duration::from_millis(1)).await;
    }
    assert_eq!(ears.told(), []);
}

/// Drops its link when it is told something.
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
    let epoch = other.open(&name, 1).await.unwrap();
    other.acquire(&name, 1, epoch).await.unwrap();
    link.listen(&name).await.unwrap();
    let id = CallId { owner: session(1).owner, seq: 1, cost: 1 };
    let era = Era { epoch, run: None };
    let terms = TERMS;
    let acquire = Command::Acquire { id, wait: true, queue: 9, era, terms, give_back: vec![] };
    link.call(&name, acquire).await.unwrap();
    *receiver.link.lock().unwrap() = Some(link);
    other.release(&name, 1).await.unwrap();
    while receiver.weak.get().unwrap().strong_count() > 0 {
        pass(Duration::from_millis(1)).await;
    }
    assert!(!receiver.has_ended.load(Ordering::Relaxed));
}

/// A dropped future leaves the link as it was.
pub async fn a_dropped_future_leaves_the_link_as_it_was(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let name = name("futures");
    let epoch = process.open(&name, 1000).await.unwrap();
    for seq in 1..=300 {
        let mut call = Box::pin(process.acquire(&name, 2 * seq, epoch));
        poll_immediate(&mut call).await;
        drop(call);
        let granted = process.acquire(&name, 2 * seq + 1, epoch).await.unwrap();
        assert!(is_granted(&granted), "{granted:?}");
    }
    // Each dropped one is there or not.
    assert!((300..=600).contains(&process.leases(&name).await));
    assert_eq!(process.ears.told(), []);
}

/// The link has ended, and says so always and everywhere.
async fn assert_ended(process: &Process<impl Link>) {
    assert_eq!(process.ears.wait(1).last(), Some(&Told::Ended));
    for _ in 0..3 {
        let name = name("after");
        assert_eq!(process.link.listen(&name).await, Err(StoreError::Unreachable));
        assert_eq!(process.call(&name, process.opening(1)).await, Err(StoreError::Unreachable));
    }
    assert_eq!(process.ears.ends(), 1);
}

/// A cut connection ends what is on the way.
pub async fn a_cut_connection_ends_what_is_on_the_way(site: impl Site) {
    let proxy = Proxy::to(site.socket());
    let process = Process::on(&site.through(&proxy), 1).await;
    let name = name("cut");
    let epoch = process.open(&name, 5).await.unwrap();
    proxy.black_hole();
    let mut calls: Vec<_> = (0..10).map(|seq| Box::pin(process.acquire(&name, seq, epoch))).collect();
    for call in &mut calls {
        assert!(poll_immediate(call).await.is_none());
    }
    proxy.cut();
    for outcome in join_all(calls).await {
        assert_eq!(outcome, Err(StoreError::Unreachable));
    }
    assert_ended(&process).await;
    proxy.heal();
    let next = Process::on(&site.through(&proxy), 1).await;
    assert_eq!(next.open(&name, 5).await, Ok(epoch));
}

/// A lost reply is an end, and the command may have happened.
pub async fn a_lost_reply_is_an_end_and_the_command_may_have_happened(site: impl Site) {
    let proxy = Proxy::to(site.socket());
    let process = Process::on(&site.through(&proxy), 1).await;
    let name = name("lost");
    let epoch = process.open(&name, 5).await.unwrap();
    proxy.drop_replies(1);
    assert_eq!(process.acquire(&name, 1, epoch).await, Err(StoreError::Unreachable));
    assert_ended(&process).await;
    let next = Process::on(&site.through(&proxy), 1).await;
    assert!(next.leases(&name).await <= 1);
    // The same id is the same lease.
    assert!(is_granted(&next.acquire(&name, 1, epoch).await.unwrap()));
    assert_eq!(next.leases(&name).await, 1);
}

/// A black hole delays, and does not end.
pub async fn a_black_hole_delays_and_does_not_end(site: impl Site) {
    let proxy = Proxy::to(site.socket());
    let process = Process::on(&site.through(&proxy), 1).await;
    let name = name("hole");
    let epoch = process.open(&name, 5).await.unwrap();
    proxy.black_hole();
    let mut call = Box::pin(process.acquire(&name, 1, epoch));
    assert!(poll_immediate(&mut call).await.is_none());
    pass(Duration::from_millis(50)).await;
    assert!(poll_immediate(&mut call).await.is_none());
    proxy.heal();
    assert!(is_granted(&call.await.unwrap()));
    assert_eq!(process.ears.told(), []);
}

/// A server that restarts is another one.
pub async fn a_server_that_restarts_is_another_one(mut site: impl Site) {
    let name = name("restart");
    let mut runs = vec![];
    for (data, leases) in [(Data::Keep, 1), (Data::Empty, 0)] {
        let process = Process::on(&site.store(), 1).await;
        let epoch = process.open(&name, 5).await.unwrap();
        runs.push(process.link.listen(&name).await.unwrap().run.unwrap());
        process.acquire(&name, 1, epoch).await.unwrap();
        site.restart(data);
        assert_ended(&process).await;
        let next = Process::on(&site.store(), 1).await;
        assert_eq!(next.leases(&name).await, leases);
        runs.push(next.link.listen(&name).await.unwrap().run.unwrap());
    }
    // The second link of the first turn, and the first of the second, are of one run.
    assert_eq!(runs[1], runs[2]);
    runs.dedup();
    assert_eq!(runs.len(), 3, "{runs:?}");
}

/// A notice that another process causes comes before the answers to later commands.
pub async fn a_notice_of_another_process_comes_before_the_answers_that_follow_it(site: impl Site) {
    let (process, other) = (Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await);
    let name = name("others");
    let epoch = process.open(&name, 1).await.unwrap();
    other.open(&name, 1).await.unwrap();
    other.acquire(&name, 0, epoch).await.unwrap();
    for seq in 1..=500 {
        let queued = process.acquire(&name, seq, epoch).await;
        assert!(matches!(queued, Ok(Outcome::Queued { .. })));
        assert_eq!(other.release(&name, seq - 1).await, Ok(Outcome::Done));
        // The release was answered, so this command comes after the notice.
        assert_eq!(process.leases_by_a_command(&name, epoch).await, 1);
        assert_eq!(process.ears.granted().last(), Some(&seq));
        let queued = other.acquire(&name, seq, epoch).await;
        assert!(matches!(queued, Ok(Outcome::Queued { .. })));
        assert_eq!(process.release(&name, seq).await, Ok(Outcome::Done));
    }
}

/// A grant passes a process that has ended.
pub async fn a_grant_passes_a_process_that_has_ended(site: impl Site) {
    let [first, dead, next] =
        [Process::on(&site.store(), 1).await, Process::on(&site.store(), 2).await, Process::on(&site.store(), 3).await];
    let name = name("ended");
    let epoch = first.open(&name, 1).await.unwrap();
    first.acquire(&name, 1, epoch).await.unwrap();
    for process in [&dead, &next] {
        process.open(&name, 1).await.unwrap();
        assert!(matches!(process.acquire(&name, 1, epoch).await, Ok(Outcome::Queued { .. })));
    }
    drop(dead);
    while site.sessions().contains("process_2") {
        pass(Duration::from_millis(1)).await;
    }
    first.release(&name, 1).await.unwrap();
    next.ears.wait(1);
    assert_eq!((next.ears.granted(), first.leases(&name).await), (vec![1], 1));
}

/// Sessions that the server ends are links that end.
pub async fn ended_sessions_end_their_links(site: impl Site) {
    let process = Process::on(&site.store(), 1).await;
    let name = name("killed");
    let epoch = process.open(&name, 1).await.unwrap();
    process.acquire(&name, 1, epoch).await.unwrap();
    site.end_sessions();
    // Though it sends nothing.
    assert_ended(&process).await;
    let next = Process::on(&site.store(), 1).await;
    assert_eq!(next.open(&name, 1).await, Ok(epoch));
    assert_eq!(next.release(&name, 1).await, Ok(Outcome::Done));
    assert_eq!(next.leases(&name).await, 0);
}

/// A server that does not run is unreachable.
pub async fn a_server_that_is_gone_is_unreachable(mut site: impl Site) {
    let proxy = Proxy::to(site.socket());
    site.kill();
    for store in [site.store(), site.through(&proxy)] {
        assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::Unreachable));
    }
}

/// Commands of several processes do not undo each other.
pub async fn commands_of_several_processes_do_not_undo_each_other(site: impl Site) {
    let name = name("several");
    let mut processes = vec![];
    for number in 1..=4 {
        processes.push(Process::on(&site.store(), number).await);
    }
    let mut epochs = vec![];
    for process in &processes {
        epochs.push(process.open(&name, 1000).await.unwrap());
    }
    let turns = processes.iter().zip(epochs).map(async |(process, epoch)| {
        for seq in 1..=100 {
            assert!(is_granted(&process.acquire(&name, seq, epoch).await.unwrap()));
        }
    });
    join_all(turns).await;
    assert_eq!(processes[0].leases(&name).await, 400);
}

/// Random commands are answered as by the table, at the times that the server says.
pub async fn random_commands_are_answered_as_by_the_table(site: impl Site) {
    let terms = Terms { ttl: Duration::from_millis(20), claim: Duration::from_millis(8), block: 4 };
    let (mut script, mut table, name) = (Script::new(7, terms), Table::default(), name("random"));
    let mut processes = vec![];
    for number in 1..=4 {
        let process = Process::on(&site.store(), number << 90).await;
        process.link.listen(&name).await.unwrap();
        processes.push(process);
    }
    let of = |owner| processes.iter().position(|process| process.owner == owner);
    let (mut outcomes, mut granted) = (BTreeSet::new(), vec![BTreeSet::new(); processes.len()]);
    for step in 0..1500 {
        let command = script.command();
        let sender = match &command {
            Command::Open { owner, .. } | Command::Beat { owner, .. } | Command::Close { owner, .. } => *owner,
            Command::Acquire { id, .. } => id.owner,
            _ => script.owner(),
        };
        let answer = processes[of(sender).unwrap()].call(&name, command.clone()).await.unwrap();
        let now = match (&command, answer.head) {
            (_, Some(head)) => head.now,
            // The lease tells when it was granted.
            (Command::Acquire { id, terms, .. }, None) => {
                let all = Command::Status { offset: 0, count: u64::MAX };
                let Outcome::Status(status) = processes[0].call(&name, all).await.unwrap().outcome else { panic!() };
                let (_, until) = status.lease_page.into_iter().find(|(lease, _)| lease == id).unwrap();
                ServerTime::from(u64::from(until) - u64::try_from(terms.ttl.as_micros()).unwrap())
            }
            // A release that needs no time.
            (_, None) => ServerTime::default(),
        };
        let expected = table.apply(now, &command, &mut |owner, notice| {
            if let Notice::Granted { token, .. } = notice {
                granted[of(owner).unwrap()].insert(token);
            }
            true
        });
        assert_eq!(answer, expected, "step {step}: {command:?}");
        script.epoch = answer.head.and_then(|head| head.epoch).unwrap_or(script.epoch);
        let text = format!("{:?}", answer.outcome);
        outcomes.insert(text.split([' ', '(', '{']).next().unwrap_or_default().to_owned());
    }
    assert!(outcomes.len() > 9, "{outcomes:?}");
    assert!(granted.iter().all(|tokens| tokens.len() > 3), "{granted:?}");
    for (process, expected) in processes.iter().zip(granted) {
        let tokens = |told: &Told| match told {
            Told::Notice(_, Notice::Granted { token, .. }) => Some(*token),
            _ => None,
        };
        // The last messages may be on their way, and other notices are among them.
        let mut told = process.ears.wait(expected.len());
        while told.iter().filter_map(tokens).count() < expected.len() {
            told = process.ears.wait(told.len() + 1);
        }
        assert_eq!(told.iter().filter_map(tokens).collect::<BTreeSet<_>>(), expected);
    }
}
