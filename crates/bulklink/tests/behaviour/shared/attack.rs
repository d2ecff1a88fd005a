//! Foreign code, limits that change while units are lent, and calls that end by themselves, beside
//! keys that share a capacity.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::partitions::{Class, Share};
use bulklink::testing::Executor;
use bulklink::{EventFilter, EventKind, Figures, Partitions, Reason, Registry, Request};

use super::{Models, builder, call, ended, load, models, shared};
use crate::driver::Background;
use crate::{CountingWaker, executor, ms, slot, taken};

#[test]
fn units_beyond_a_smaller_capacity_do_not_stay_with_a_key() {
    let executor = executor();
    let models = models(&executor, 3);
    let mut running = vec![models.key("ann").try_slot().expect("free"), models.key("ann").try_slot().expect("free")];
    models.resize_shared(1).expect("valid");
    running.pop();
    assert!(models.key("ann").try_slot().is_err(), "one of one is in use");
    running.pop();
    let _ann = models.key("ann").try_slot().expect("free");
    assert!(models.key("ann").try_slot().is_err(), "one of one is in use");
}

#[test]
fn a_floor_that_is_kept_from_now_on_is_not_lent_to_others() {
    let executor = executor();
    let models = models(&executor, 2);
    drop([(); 2].map(|()| models.key("ann").try_slot().expect("free")));
    models.set_share("paying", Share::new().floor(1).kept()).expect("valid");
    let _one = models.key("ann").try_slot().expect("not kept");
    assert!(models.key("ann").try_slot().is_err(), "kept");
    drop(models.key("paying").try_slot().expect("kept for it"));
    assert!(models.key("ann").try_slot().is_err(), "kept again");
}

#[test]
fn a_floor_that_is_kept_while_all_is_in_use_is_free_when_units_come_back() {
    let executor = executor();
    let models = models(&executor, 2);
    let mut running = vec![models.key("ann").try_slot().expect("free"), models.key("ann").try_slot().expect("free")];
    models.set_share("paying", Share::new().floor(1).kept()).expect("valid");
    running.pop();
    assert!(models.key("ann").try_slot().is_err(), "the unit is kept");
    assert!(models.key("paying").try_slot().is_ok());
}

#[test]
fn a_call_that_its_own_room_turns_away_displaces_nothing() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(1).shared_waiting_room(4).waiting_room(2);
    let models = builder.build().expect("valid");
    models.set_share("heavy", Share::new().weight(10)).expect("valid");
    let _running = slot(&call(&mut executor, &models, "other"));
    let loud = ["loud"; 2].map(|key| call(&mut executor, &models, key));
    let heavy = ["heavy"; 2].map(|key| call(&mut executor, &models, key));
    let third = call(&mut executor, &models, "heavy");
    assert_eq!(crate::reason(&third), Reason::Saturated);
    assert_eq!((ended(&loud), ended(&heavy), shared(&models).displaced), (vec![false; 2], vec![false; 2], 0));
}

/// As those of one bulkhead are.
#[test]
fn waiters_of_other_keys_are_woken_before_handlers_are_called() {
    let executor = executor();
    let models = models(&executor, 1);
    let ann = models.key("ann").try_slot().expect("free");
    let waker = Arc::new(CountingWaker::default());
    let mut bob = models.key("bob").slot();
    let waker_of_bob = Waker::from(Arc::clone(&waker));
    let mut context = Context::from_waker(&waker_of_bob);
    assert!(Pin::new(&mut bob).poll(&mut context).is_pending());
    let (seen, record) = crate::recorder({
        let waker = Arc::clone(&waker);
        move |_| waker.wakes()
    });
    models.handle().add_event_handler(EventFilter::of(EventKind::Released), record);
    drop(ann);
    assert_eq!(taken(&seen), [1]);
    assert!(matches!(Pin::new(&mut bob).poll(&mut context), Poll::Ready(Ok(_))));
}

/// What the handlers and wakers below do.
fn use_everything(models: &Models) {
    for key in ["ann", "bob", "cid"] {
        drop(models.key(key).try_slot());
        let batch = models.class(Class::Background);
        drop(batch.key(key).try_slot());
        let _ = models.set_share(key, Share::new().weight(2));
        for handle in [models.partition(key), batch.partition(key)].into_iter().flatten() {
            let _ = (handle.status(), handle.estimated_wait(1), handle.resize(2));
            handle.figures(&mut Figures::default());
            handle.ceiling("attack").set(1);
        }
    }
    let handle = models.handle();
    let _ = (models.status(), handle.sums(), handle.worst_keys(2), handle.cleanup_idle(), models.discard("cid"));
    let _ = models.class(Class::Background).discard("ann");
    let _ = models.resize_shared(2);
    models.pause();
    models.resume();
}

#[test]
fn handlers_may_use_the_same_partitions() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(2).shared_waiting_room(2).show_keys(String::clone);
    let models = builder.build().expect("valid");
    let calls = Arc::new(Mutex::new(0));
    models.handle().add_event_handler(EventFilter::ALL, {
        let (models, calls) = (models.clone(), Arc::clone(&calls));
        move |_| {
            *calls.lock().expect("no panic") += 1;
            if *calls.lock().expect("no panic") < 20 {
                use_everything(&models);
            }
        }
    });
    let running = ["ann", "bob"].map(|key| slot(&call(&mut executor, &models, key)));
    let waiting = ["ann", "ann", "bob"].map(|key| call(&mut executor, &models, key));
    drop(running);
    executor.run_until_idle();
    drop(waiting);
    executor.run_until_idle();
    assert_eq!(load(&models), [(0, 0); 2]);
    models.close();
}

struct Using(Models);

impl Wake for Using {
    fn wake(self: Arc<Self>) {
        use_everything(&self.0);
    }
}

#[test]
fn wakers_may_use_the_same_partitions() {
    let executor = executor();
    let models = builder(&executor).shared_capacity(1).shared_waiting_room(2).build().expect("valid");
    let ann = models.key("ann").try_slot().expect("free");
    let waker = Waker::from(Arc::new(Using(models.clone())));
    let mut context = Context::from_waker(&waker);
    let mut calls = ["bob", "bob", "cid"].map(|key| models.key(key).slot());
    for call in &mut calls {
        assert!(Pin::new(call).poll(&mut context).is_pending());
    }
    drop(ann);
    drop(calls);
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_waker_that_panics_holds_up_no_other_key() {
    let executor = executor();
    let models = models(&executor, 2);
    let running = ["ann", "ann"].map(|key| models.key(key).try_slot().expect("free"));
    let wakers = [true, false].map(|panics| Arc::new(CountingWaker { panics, ..CountingWaker::default() }));
    let mut calls = ["bob", "cid"].map(|key| models.key(key).slot());
    for (call, waker) in calls.iter_mut().zip(&wakers) {
        let waker = Waker::from(Arc::clone(waker));
        assert!(Pin::new(call).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let _ = catch_unwind(AssertUnwindSafe(|| models.resize_shared(4)));
    assert_eq!([&wakers[0], &wakers[1]].map(|waker| waker.wakes()), [1, 1]);
    drop((running, calls));
    assert_eq!(load(&models), [(0, 0); 2]);
}

/// A handler that is dropped with the bulkhead of its partition.
struct UsesOnDrop(Models);

impl Drop for UsesOnDrop {
    fn drop(&mut self) {
        use_everything(&self.0);
        self.0.handle().add_event_handler(EventFilter::ALL, |_| ());
    }
}

#[test]
fn a_bulkhead_that_is_dropped_may_use_the_same_partitions() {
    let executor = executor();
    let models = builder(&executor).shared_capacity(2).max_partitions(1).build().expect("valid");
    drop(models.key("ann").try_slot().expect("free"));
    let handle = models.partition("ann").expect("kept");
    let dropped = UsesOnDrop(models.clone());
    handle.add_event_handler(EventFilter::ALL, move |_| _ = &dropped);
    drop(handle);
    drop(models.key("bob").try_slot().expect("free"));
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn figures_of_more_keys_than_have_live_words_are_exact() {
    let executor = executor();
    let models =
        builder(&executor).shared_capacity(200).max_partitions(100).show_keys(String::clone).build().expect("valid");
    let registry = Registry::new();
    registry.add_partitions(&models).expect("a new name");
    let keys: Vec<_> = (0..100).map(|key| key.to_string()).collect();
    let slots: Vec<_> = keys.iter().map(|key| models.key(key).try_slot().expect("free")).collect();
    for _ in 0..3 {
        drop(keys.iter().map(|key| models.key(key).try_slot().expect("free")).collect::<Vec<_>>());
        assert_eq!((load(&models), shared(&models).peak_in_use), ([(100, 0); 2], 200));
        let worst = models.handle().worst_keys(200).expect("shown").in_use;
        assert_eq!((worst.len(), worst.iter().all(|load| load.in_use == 1)), (100, true));
    }
    drop(slots);
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_ceiling_of_a_bulkhead_holds_for_lent_units() {
    let mut executor = executor();
    let models = models(&executor, 3);
    drop([(); 3].map(|()| models.key("ann").try_slot().expect("free")));
    let ann = models.partition("ann").expect("kept");
    let ceiling = ann.ceiling("controller");
    ceiling.set(1);
    let running = models.key("ann").try_slot().expect("within it");
    let rejection = models.key("ann").try_slot().expect_err("beyond it");
    assert_eq!(rejection.restriction().map(|restriction| restriction.by), Some("controller"));
    let waiting = call(&mut executor, &models, "ann");
    assert!(!waiting.is_finished());
    assert!(models.key("bob").with(Request::new().cost(2)).try_slot().is_ok(), "Ann holds up no other key");
    ceiling.set(2);
    executor.run_until_idle();
    assert!(waiting.is_finished());
    let waiting = slot(&waiting);
    ceiling.set(0);
    let more = call(&mut executor, &models, "ann");
    drop((running, waiting));
    executor.run_until_idle();
    assert!(!more.is_finished());
    drop(ceiling);
    executor.run_until_idle();
    assert!(more.is_finished());
    drop(more);
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_call_waits_for_a_higher_ceiling_and_for_nothing_else() {
    let mut executor = executor();
    let models = super::builder(&executor).shared_capacity(3).waiting_room(0).build().expect("valid");
    let first = models.key("ann").try_slot().expect("free");
    let ceiling = models.partition("ann").expect("in use").ceiling("share");
    ceiling.set_fetch(ms(10));
    ceiling.set(1);
    let fetching = executor.spawn(models.key("ann").with(Request::new().now()).slot());
    executor.run_until_idle();
    assert!(!fetching.is_finished(), "a higher ceiling would admit it");
    ceiling.set(2);
    executor.run_until_idle();
    let second = slot(&fetching);
    ceiling.set(3);
    let _bob = models.key("bob").try_slot().expect("one is left");
    assert_eq!(crate::reason(&call(&mut executor, &models, "ann")), Reason::Saturated, "no ceiling is in its way");
    drop((first, second));
}

#[test]
fn smaller_limits_of_each_key_hold_for_lent_units() {
    let executor = executor();
    let models = models(&executor, 3);
    drop([(); 3].map(|()| models.key("ann").try_slot().expect("free")));
    models.reconfigure(models.status().each.with_capacity(1)).expect("valid");
    let _one = models.key("ann").try_slot().expect("free");
    assert!(models.key("ann").try_slot().is_err());
    assert!(models.key("bob").try_slot().is_ok());
}

#[test]
fn paused_partitions_admit_no_lent_unit() {
    let mut executor = executor();
    let models = models(&executor, 2);
    drop([(); 2].map(|()| models.key("ann").try_slot().expect("free")));
    models.pause();
    assert!(models.key("ann").try_slot().is_err() && models.key("bob").try_slot().is_err());
    let waiting = ["ann", "bob", "cid"].map(|key| call(&mut executor, &models, key));
    models.resume();
    executor.run_until_idle();
    assert_eq!(ended(&waiting).into_iter().filter(|&is_ended| is_ended).count(), 2, "in the order of the resumptions");
    drop(waiting);
    executor.run_until_idle();
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_closed_key_keeps_no_unit() {
    let executor = executor();
    let models = models(&executor, 2);
    let held = models.key("ann").try_slot().expect("free");
    drop(models.key("ann").try_slot().expect("free"));
    models.partition("ann").expect("kept").close();
    drop(held);
    let _bobs = [(); 2].map(|()| models.key("bob").try_slot().expect("none is lost"));
    assert!(models.key("ann").try_slot().is_err());
}

#[test]
fn the_unit_of_a_call_that_never_collects_it_goes_to_another_key() {
    let background = Background::default();
    let mut executor = Executor::new(background.clock());
    let builder = Partitions::builder_on(background.clone(), "models").shared_capacity(1).shared_waiting_room(5);
    let models: Partitions<String, _> = builder.max_partitions(5).collect_limit(ms(100)).build().expect("valid");
    let ann = models.key("ann").try_slot().expect("free");
    let mut calls = ["bob", "cid"].map(|key| models.key(key).slot());
    for call in &mut calls {
        assert!(Pin::new(call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    drop(ann);
    // It is seen by the first look, and taken back by the second.
    background.advance(&mut executor, ms(100));
    background.advance(&mut executor, ms(100));
    let [_lost, mut cid] = calls;
    assert!(Pin::new(&mut cid).poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn written_off_units_stay_in_use_for_the_whole() {
    let mut executor = executor();
    let models = models(&executor, 3);
    models.set_share("ann", Share::new().ceiling(2)).expect("valid");
    models.key("ann").try_slot().expect("free").forget();
    assert!(models.discard("ann"));
    let running = [(); 2].map(|()| models.key("ann").try_slot().expect("free"));
    assert!(models.key("bob").try_slot().is_err());
    let waiting = ["ann", "bob"].map(|key| call(&mut executor, &models, key));
    drop(running);
    executor.run_until_idle();
    assert_eq!(ended(&waiting), [true, true]);
    drop(waiting);
    assert_eq!(load(&models), [(1, 0), (0, 0)], "no key has it");
    models.resize_shared(1).expect("valid");
    assert!(models.key("bob").try_slot().is_err());
    models.resize_shared(2).expect("valid");
    assert!(models.key("bob").try_slot().is_ok());
}

#[test]
fn a_waiter_that_expires_lets_those_behind_it_pass() {
    let mut executor = executor();
    let models = models(&executor, 2);
    let mut running = vec![models.key("ann").try_slot().expect("free"), models.key("ann").try_slot().expect("free")];
    let wide = executor.spawn(models.key("bob").with(Request::new().cost(2).within(ms(50))).slot());
    executor.run_until_idle();
    let cid = call(&mut executor, &models, "cid");
    running.pop();
    executor.run_until_idle();
    assert!(!cid.is_finished(), "the wide call is before it");
    executor.advance(ms(50));
    executor.run_until_idle();
    assert_eq!((crate::reason(&wide), cid.is_finished()), (Reason::Expired, true));
}

#[test]
fn adaptive_limits_and_measured_holds_share_a_capacity() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(2).shared_waiting_room(5).measure_holds(true);
    let models = builder.adaptive(bulklink::limit::Knee::between(1, 2)).build().expect("valid");
    for _ in 0..50 {
        let calls = ["ann", "bob", "ann", "cid"].map(|key| call(&mut executor, &models, key));
        for call in &calls {
            executor.advance(ms(5));
            executor.run_until_idle();
            if call.is_finished() {
                drop(call.output());
            }
        }
        drop(calls);
        executor.run_until_idle();
        assert_eq!(load(&models), [(0, 0); 2]);
    }
}

#[test]
fn a_waiter_behind_another_that_is_dropped_leaves_its_place_to_other_keys() {
    let mut executor = executor();
    let models = builder(&executor).shared_capacity(1).shared_waiting_room(3).waiting_room(9).build().expect("valid");
    let _running = slot(&call(&mut executor, &models, "ann"));
    let waiting = ["bob", "bob", "cid"].map(|key| call(&mut executor, &models, key));
    waiting[1].cancel();
    assert_eq!(load(&models), [(1, 2); 2]);
    let dan = call(&mut executor, &models, "dan");
    assert!(!dan.is_finished());
    assert_eq!(shared(&models).displaced, 0);
}

/// Another partition has its number by then.
#[test]
fn the_handle_of_a_partition_that_is_gone_reaches_no_other() {
    let executor = executor();
    let models = builder(&executor).shared_capacity(2).max_partitions(1).build().expect("valid");
    drop([(); 2].map(|()| models.key("ann").try_slot().expect("free")));
    let ann = models.partition("ann").expect("kept");
    drop(models.key("bob").try_slot().expect("free"));
    let _cid = models.key("cid").try_slot().expect("free");
    ann.pause();
    ann.resume();
    ann.resize(1).expect("open");
    ann.ceiling("controller").set(1);
    assert_eq!((ann.status().in_use, load(&models)), (0, [(1, 0); 2]));
    ann.close();
    assert_eq!(load(&models), [(1, 0); 2]);
    assert!(models.key("cid").try_slot().is_ok(), "one unit is left");
}
