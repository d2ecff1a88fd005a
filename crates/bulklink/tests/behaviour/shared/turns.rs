//! Whose turn it is.

use bulklink::{Bound, OwnedSlot, Reason};

use super::{call, ended, load, models, shared};
use crate::{Call, executor, ms, slot};

#[test]
fn one_key_may_use_the_whole_capacity() {
    let executor = executor();
    let models = models(&executor, 3);
    let slots: Vec<_> = (0..3).map(|_| models.key("ann").try_slot().expect("free")).collect();
    let rejection = models.key("ann").try_slot().expect_err("none is free");
    assert_eq!((rejection.reason(), rejection.bound()), (Reason::Saturated, Some(Bound::Shared)));
    assert_eq!(load(&models), [(3, 0); 2]);
    drop(slots);
    assert_eq!((load(&models), shared(&models).peak_in_use), ([(0, 0); 2], 3));
}

#[test]
fn a_unit_that_stays_with_a_key_is_taken_back_for_another() {
    let executor = executor();
    let models = models(&executor, 2);
    // Given back by the word of Ann's bulkhead, and lent to it until another key needs it.
    for _ in 0..3 {
        drop([models.key("ann").try_slot().expect("free"), models.key("ann").try_slot().expect("free")]);
    }
    let bobs = [(); 2].map(|()| models.key("bob").try_slot().expect("taken back"));
    assert!(models.key("ann").try_slot().is_err());
    drop(bobs);
    assert!(models.key("ann").try_slot().is_ok());
}

#[test]
fn a_waiter_gets_the_unit_of_another_key() {
    let mut executor = executor();
    let models = models(&executor, 1);
    let ann = slot(&call(&mut executor, &models, "ann"));
    let bob = call(&mut executor, &models, "bob");
    assert!(!bob.is_finished());
    drop(ann);
    executor.run_until_idle();
    let bob = slot(&bob);
    assert_eq!((bob.cost(), load(&models)), (1, [(1, 0); 2]));
    drop(bob);
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_loud_key_does_not_keep_others_waiting() {
    let mut executor = executor();
    let models = models(&executor, 2);
    let running: Vec<OwnedSlot> = (0..2).map(|_| slot(&call(&mut executor, &models, "loud"))).collect();
    let loud: Vec<Call> = (0..10).map(|_| call(&mut executor, &models, "loud")).collect();
    let quiet = call(&mut executor, &models, "quiet");
    let mut running = running.into_iter();
    drop(running.next());
    executor.run_until_idle();
    assert!(quiet.is_finished() && !loud[0].is_finished(), "the key that holds less comes first");
    drop(running.next());
    executor.run_until_idle();
    assert_eq!(ended(&loud)[..2], [true, false], "and then the first in its own line");
}

#[test]
fn turns_follow_weights() {
    use bulklink::partitions::Share;

    let mut executor = executor();
    let models = models(&executor, 1);
    models.set_share("heavy", Share::new().weight(3)).expect("valid");
    let mut served = vec![];
    let mut running = Some(slot(&call(&mut executor, &models, "other")));
    let mut lines = ["heavy", "light"].map(|key| (key, vec![]));
    for (key, calls) in &mut lines {
        calls.extend((0..40).map(|_| call(&mut executor, &models, key)));
    }
    for _ in 0..40 {
        drop(running.take());
        executor.run_until_idle();
        for (key, calls) in &mut lines {
            if calls[0].is_finished() {
                running = Some(slot(&calls.remove(0)));
                served.push(*key);
            }
        }
    }
    assert_eq!(served.iter().filter(|&&key| key == "heavy").count(), 30, "{served:?}");
}

#[test]
fn a_call_that_comes_does_not_pass_waiters_of_lighter_keys() {
    let mut executor = executor();
    let models = models(&executor, 2);
    let ann = slot(&call(&mut executor, &models, "ann"));
    let bob = slot(&call(&mut executor, &models, "bob"));
    let waiting = call(&mut executor, &models, "cid");
    let rejection = models.key("ann").try_slot().expect_err("Cid is before Ann");
    assert_eq!(rejection.bound(), Some(Bound::Shared));
    drop((ann, bob));
    executor.run_until_idle();
    assert!(waiting.is_finished());
    assert_eq!(load(&models), [(1, 0); 2]);
}

#[test]
fn waits_expire_at_their_limit_and_are_not_served_late() {
    let mut executor = executor();
    let builder = super::builder(&executor).shared_capacity(1).shared_waiting_room(10).wait_limit(ms(100));
    let models = builder.build().expect("valid");
    let ann = models.key("ann").try_slot().expect("free");
    let bob = executor.spawn(models.key("bob").slot());
    executor.run_until_idle();
    executor.advance(ms(60));
    let cid = executor.spawn(models.key("cid").slot());
    executor.run_until_idle();
    executor.advance(ms(40));
    assert_eq!(crate::reason(&bob), Reason::Expired);
    drop(ann);
    executor.run_until_idle();
    assert_eq!(slot(&cid).waited(), ms(40));
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_wait_that_expires_has_the_limit_that_held_it_up() {
    use bulklink::partitions::{Class, Share};

    let mut executor = executor();
    let builder = super::builder(&executor).shared_capacity(3).shared_waiting_room(10).wait_limit(ms(100));
    let models = builder.class_headroom(Class::Background, 1).build().expect("valid");
    models.set_share("ann", Share::new().ceiling(1)).expect("valid");
    models.set_share("bob", Share::new().paused(true)).expect("valid");
    let ann = models.key("ann").try_slot().expect("one of one");
    let cid = models.key("cid").try_slot().expect("free");
    let handle = models.partition("cid").expect("it is in use");
    let keys = ["ann", "bob"].map(|key| executor.spawn(models.key(key).slot()));
    let batch = executor.spawn(models.class(Class::Background).key("dan").slot());
    executor.run_until_idle();
    executor.advance(ms(100));
    let of = |call: &Call| {
        let rejection = call.output().expect("ended").expect_err("expired");
        assert_eq!(rejection.reason(), Reason::Expired);
        rejection.bound()
    };
    assert_eq!(keys.each_ref().map(of), [Some(Bound::Key); 2]);
    assert_eq!(of(&batch), Some(Bound::Headroom));

    let _full = models.key("eve").try_slot().expect("free");
    let [eve, cid_again] = ["eve", "cid"].map(|key| executor.spawn(models.key(key).slot()));
    executor.run_until_idle();
    // Its own ceiling, while all units are in use.
    let ceiling = handle.ceiling("test");
    ceiling.set(1);
    executor.advance(ms(100));
    assert_eq!((of(&eve), of(&cid_again)), (Some(Bound::Shared), Some(Bound::Key)));
    let late = models.key("eve").with(bulklink::Request::new().deadline_after(ms(0))).slot();
    let late = executor.spawn(late);
    executor.run_until_idle();
    assert_eq!(of(&late), None, "it came too late");
    drop((ann, cid));
    assert_eq!(load(&models), [(1, 0); 2]);
}

#[test]
fn a_waiter_that_is_dropped_makes_way() {
    let mut executor = executor();
    let models = models(&executor, 1);
    let ann = slot(&call(&mut executor, &models, "ann"));
    let [bob, cid] = ["bob", "cid"].map(|key| call(&mut executor, &models, key));
    bob.cancel();
    executor.run_until_idle();
    assert_eq!(shared(&models).waiting, 1);
    drop(ann);
    executor.run_until_idle();
    assert!(cid.is_finished());
}

#[test]
fn a_pause_of_all_admits_no_call_that_is_late_by_then() {
    use bulklink::Request;
    use bulklink::partitions::Share;

    // The keys are paused one after the other, in an order that differs from time to time.
    for _ in 0..16 {
        let mut executor = executor();
        let builder = super::builder(&executor).shared_capacity(2).shared_waiting_room(9).wait_limit(ms(50));
        let models = builder.build().expect("valid");
        models.set_share("ann", Share::new().weight(2)).expect("valid");
        let _running = models.key("cid").try_slot().expect("free");
        let ann = executor.spawn(models.key("ann").with(Request::new().cost(2)).slot());
        executor.run_until_idle();
        let bob = call(&mut executor, &models, "bob");
        assert!(!bob.is_finished(), "it is Ann's turn, and one unit is free");
        executor.clock().advance(ms(60));
        models.pause();
        executor.run_until_idle();
        assert_eq!([&ann, &bob].map(crate::reason), [Reason::Expired; 2]);
    }
}
