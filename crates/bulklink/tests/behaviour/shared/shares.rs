//! Floors, ceilings and pauses of a key.

use bulklink::partitions::Share;
use bulklink::{Bound, Reason, Request};

use super::{call, load, models, shared};
use crate::{executor, slot};

#[test]
fn a_floor_comes_first_and_is_used_by_others() {
    let mut executor = executor();
    let models = models(&executor, 2);
    models.set_share("paying", Share::new().floor(1)).expect("valid");
    let mut others: Vec<_> = ["ann", "ann"].map(|key| slot(&call(&mut executor, &models, key))).into();
    let bob = call(&mut executor, &models, "bob");
    let paying = call(&mut executor, &models, "paying");
    drop(others.pop());
    executor.run_until_idle();
    assert!(paying.is_finished() && !bob.is_finished(), "within its floor, though Bob has waited longer");
}

#[test]
fn a_kept_floor_is_free_for_its_key_alone() {
    let executor = executor();
    let models = models(&executor, 3);
    models.set_share("paying", Share::new().floor(2).kept()).expect("valid");
    let other = models.key("other").try_slot().expect("free");
    let rejection = models.key("other").try_slot().expect_err("kept");
    assert_eq!(rejection.bound(), Some(Bound::Headroom));
    let paying = [(); 2].map(|()| models.key("paying").try_slot().expect("kept for it"));
    assert_eq!(models.key("paying").try_slot().expect_err("beyond it").bound(), Some(Bound::Shared));
    drop(paying);
    assert!(models.key("other").try_slot().is_err(), "kept again");
    drop(other);
}

#[test]
fn kept_floors_stay_within_the_capacity() {
    let executor = executor();
    let models = models(&executor, 3);
    models.set_share("ann", Share::new().floor(2).kept()).expect("valid");
    let invalid = models.set_share("bob", Share::new().floor(2).kept()).expect_err("four of three");
    assert_eq!(
        invalid.to_string(),
        "partitions models: floor must leave the kept floors of all keys, 4, within the capacity, 3, got 2"
    );
    assert_eq!(models.share("bob"), Some(Share::new()), "nothing has changed");
    models.resize_shared(1).expect_err("less than is kept");
    models.set_share("ann", Share::new().floor(3).kept()).expect("its own floor counts once");
}

#[test]
fn a_ceiling_binds_its_own_key_alone() {
    let mut executor = executor();
    let models = models(&executor, 3);
    models.set_share("ann", Share::new().ceiling(1)).expect("valid");
    let first = slot(&call(&mut executor, &models, "ann"));
    let second = call(&mut executor, &models, "ann");
    assert!(!second.is_finished());
    assert!(models.key("bob").try_slot().is_ok(), "nobody waits for the capacity");
    let rejection = models.key("ann").try_slot().expect_err("at its ceiling");
    assert_eq!((rejection.reason(), rejection.bound()), (Reason::Saturated, Some(Bound::Key)));
    models.set_share("ann", Share::new().ceiling(2)).expect("valid");
    executor.run_until_idle();
    assert!(second.is_finished(), "a higher ceiling admits at once");
    drop(first);
}

#[test]
fn a_lower_ceiling_takes_back_lent_units() {
    let executor = executor();
    let models = models(&executor, 3);
    drop([(); 3].map(|()| models.key("ann").try_slot().expect("free")));
    models.set_share("ann", Share::new().ceiling(1)).expect("valid");
    let _one = models.key("ann").try_slot().expect("within the ceiling");
    assert_eq!(models.key("ann").try_slot().expect_err("beyond").bound(), Some(Bound::Key));
}

#[test]
fn the_capacity_of_each_key_is_a_ceiling() {
    let executor = executor();
    let builder = super::builder(&executor).shared_capacity(3).parallelism(2);
    let models = builder.build().expect("valid");
    let _anns = [(); 2].map(|()| models.key("ann").try_slot().expect("free"));
    assert_eq!(models.key("ann").try_slot().expect_err("two of two").bound(), Some(Bound::Key));
    assert!(models.key("bob").try_slot().is_ok());
}

#[test]
fn a_paused_key_waits_and_holds_up_no_other() {
    let mut executor = executor();
    let models = models(&executor, 1);
    drop(slot(&call(&mut executor, &models, "ann")));
    models.set_share("ann", Share::new().paused(true)).expect("valid");
    let ann = call(&mut executor, &models, "ann");
    assert!(!ann.is_finished(), "also a unit that it was lent is no longer its own");
    drop(slot(&call(&mut executor, &models, "bob")));
    models.set_share("ann", Share::new()).expect("valid");
    executor.run_until_idle();
    assert!(ann.is_finished());
}

#[test]
fn the_handle_of_a_key_pauses_and_resizes_it() {
    let mut executor = executor();
    let models = models(&executor, 2);
    let first = slot(&call(&mut executor, &models, "ann"));
    let ann = models.partition("ann").expect("in use");
    ann.pause();
    let second = call(&mut executor, &models, "ann");
    assert!(!second.is_finished() && models.key("bob").try_slot().is_ok());
    ann.resume();
    executor.run_until_idle();
    let second = slot(&second);
    drop((first, second));
    ann.resize(1).expect("open");
    let _first = models.key("ann").try_slot().expect("free");
    assert_eq!(models.key("ann").try_slot().expect_err("one of one").bound(), Some(Bound::Key));
}

#[test]
fn a_share_outlives_its_partition() {
    let executor = executor();
    let models = super::builder(&executor).shared_capacity(2).max_partitions(1).build().expect("valid");
    models.set_share("ann", Share::new().floor(1).kept()).expect("valid");
    let _bob = models.key("bob").try_slot().expect("one is not kept");
    assert_eq!(models.key("bob").try_slot().expect_err("kept, without a partition").bound(), Some(Bound::Headroom));
    assert_eq!(models.share("ann"), Some(Share::new().floor(1).kept()));
}

#[test]
fn an_evicted_key_gives_its_units_back() {
    let executor = executor();
    let models = super::builder(&executor).shared_capacity(2).max_partitions(1).build().expect("valid");
    for key in ["ann", "bob", "cid", "dan"] {
        drop([(); 2].map(|()| models.key(key).try_slot().expect("nothing is left behind")));
        assert_eq!((load(&models), shared(&models).peak_in_use), ([(0, 0); 2], 2));
    }
}

#[test]
fn a_call_that_costs_more_than_others_leave_it_holds_up_none() {
    let mut executor = executor();
    let models = models(&executor, 4);
    models.set_share("dan", Share::new().floor(2).kept()).expect("valid");
    let wide = executor.spawn(models.key("ann").with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    let other = call(&mut executor, &models, "bob");
    assert_eq!([other.is_finished(), wide.is_finished()], [true, false]);
    drop(slot(&other));
    models.set_share("dan", Share::new().floor(2)).expect("valid");
    executor.run_until_idle();
    assert_eq!(slot(&wide).cost(), 3, "the floor is lent now");
}

#[test]
fn a_key_whose_share_is_removed_has_that_of_all_again() {
    let mut executor = executor();
    let all = Share::new().ceiling(1);
    let models = super::builder(&executor).shared_capacity(4).shared_waiting_room(9).share(all).build().expect("valid");
    models.set_share("ann", Share::new().ceiling(3)).expect("valid");
    let running = [(); 2].map(|()| models.key("ann").try_slot().expect("two of three"));
    assert!(models.remove_share("ann"));
    assert_eq!(models.share("ann"), Some(all));
    assert!(!models.remove_share("ann") && !models.remove_share("bob"), "they have none of their own");
    let waiting = call(&mut executor, &models, "ann");
    assert_eq!(models.key("ann").try_slot().expect_err("two of one").bound(), Some(Bound::Key));
    let [first, second] = running;
    drop(first);
    executor.run_until_idle();
    assert!(!waiting.is_finished(), "one of one");
    drop(second);
    executor.run_until_idle();
    assert!(waiting.is_finished());
}

#[test]
fn removing_a_ceiling_or_a_pause_admits_at_once() {
    for share in [Share::new().ceiling(1), Share::new().paused(true)] {
        let mut executor = executor();
        let models = models(&executor, 2);
        models.set_share("ann", share).expect("valid");
        let calls = [(); 2].map(|()| call(&mut executor, &models, "ann"));
        assert!(!calls[1].is_finished());
        assert!(models.remove_share("ann"));
        executor.run_until_idle();
        assert!(calls[1].is_finished(), "{share:?}");
    }
}

#[test]
fn removing_a_ceiling_takes_back_no_unit_and_a_lower_one_of_all_does() {
    let executor = executor();
    let all = Share::new().ceiling(1);
    let models = super::builder(&executor).shared_capacity(3).share(all).build().expect("valid");
    models.set_share("ann", Share::new()).expect("valid");
    drop([(); 3].map(|()| models.key("ann").try_slot().expect("free")));
    models.remove_share("ann");
    let _one = models.key("ann").try_slot().expect("within the ceiling of all");
    assert_eq!(models.key("ann").try_slot().expect_err("beyond").bound(), Some(Bound::Key));
}

#[test]
fn a_kept_floor_of_a_key_without_a_partition_is_free_once_its_share_is_removed() {
    let mut executor = executor();
    let models = models(&executor, 2);
    models.set_share("ann", Share::new().floor(1).kept()).expect("valid");
    let calls = [(); 2].map(|()| call(&mut executor, &models, "bob"));
    assert!(calls[0].is_finished() && !calls[1].is_finished(), "one is kept");
    models.remove_share("ann");
    executor.run_until_idle();
    assert!(calls[1].is_finished());
    models.set_share("cid", Share::new().floor(2).kept()).expect("no other floor is kept");
}

#[test]
fn a_key_without_its_share_leaves_with_its_partition() {
    let executor = executor();
    let models = super::builder(&executor).shared_capacity(2).max_partitions(1).build().expect("valid");
    for _ in 0..3 {
        for key in ["ann", "bob"] {
            models.set_share(key, Share::new().floor(1).kept().ceiling(1)).expect("valid");
            let one = models.key(key).try_slot().expect("kept");
            assert!(models.key(key).try_slot().is_err(), "its ceiling");
            assert!(models.remove_share(key));
            let two = models.key(key).try_slot().expect("that of all has none");
            drop((one, two));
        }
        let rest = [(); 2].map(|()| models.key("cid").try_slot().expect("nothing is left behind"));
        drop(rest);
        assert_eq!(load(&models), [(0, 0); 2]);
    }
}

#[test]
fn a_share_that_is_refused_is_no_share_of_its_own() {
    let executor = executor();
    let models = models(&executor, 3);
    models.set_share("ann", Share::new().floor(2).kept()).expect("valid");
    drop(models.key("cid").try_slot().expect("one is free"));
    for key in ["bob", "cid"] {
        models.set_share(key, Share::new().floor(2).kept()).expect_err("four of three");
        assert!(!models.remove_share(key), "{key}");
    }
    assert!(models.remove_share("ann"));
}

#[test]
fn a_key_is_dropped_with_its_share() {
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Name(std::sync::Arc<str>);

    let models: bulklink::Partitions<Name, _> = bulklink::Partitions::builder_on(executor().clock(), "models")
        .max_partitions(9)
        .shared_capacity(2)
        .build()
        .expect("valid");
    let name = Name("ann".into());
    let clones = || std::sync::Arc::strong_count(&name.0) - 1;
    models.set_share(&name, Share::new().weight(2)).expect("valid");
    models.set_share(&name, Share::new().weight(3)).expect("valid");
    assert_eq!(clones(), 1);
    assert!(models.remove_share(&name));
    assert_eq!(clones(), 0);
    models.set_share(&name, Share::new().floor(3)).expect_err("more than the capacity");
    assert_eq!(clones(), 0);
}
