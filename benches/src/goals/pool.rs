//! *pool*: the order of a shared capacity, alone: a turn costs about the same with any number of
//! keys.

use crate::goal::{Goal, Limit, Row};
use crate::lines::Pooled;
use crate::scene::{Meter, Pace, Scene};

const CAPACITY: u32 = 8;
/// So few that each key has waiters left, even after those of the warm-up.
const CANCELLED: usize = 100;
const FEW: usize = 10;
const MANY: usize = 100_000;
/// The most lines whose words are live.
const LIVE: usize = 64;

pub(crate) fn goal() -> Goal {
    let turn = |keys: &str| format!("a turn: one ends, the next begins, and one more waits, {keys} keys");
    let rows = [
        Row::instructions(turn("10"), "our own while nobody waits", turns(FEW), free())
            .limit(Limit::Ours(1_700.0))
            .missed_at_ours(2_800.0),
        Row::instructions(turn("1,000"), "our own with 10", turns(1_000), turns(FEW))
            .limit(Limit::Ours(2_400.0))
            .missed_at_ours(3_500.0),
        Row::instructions(turn("100,000"), "our own with 10", turns(MANY), turns(FEW))
            .limit(Limit::Ours(3_000.0))
            .missed_at_ours(3_900.0),
        Row::instructions("a waiter behind others leaves, 100,000 keys", "our own with 10", cancel(MANY), cancel(FEW))
            .limit(Limit::Ours(600.0)),
        Row::instructions("units of 64 lines are taken back", "our own while nobody waits", take_back(), free()),
    ];
    Goal::new("pool", rows)
}

/// One key after the other.
fn by_key(operations: usize, meter: Meter<'_>, pooled: &mut Pooled, keys: usize, call: impl Fn(&mut Pooled, usize)) {
    let mut next = 0;
    meter(&mut || {
        for _ in 0..operations {
            call(pooled, next);
            // In an order that the caches do not know.
            next = (next + 7_919) % keys;
        }
    });
}

fn turns(keys: usize) -> Scene {
    Scene::new(format!("pool/turn of {keys}"), move |operations, meter| {
        let mut pooled = Pooled::new(CAPACITY, keys);
        // With many keys a line is empty after its turn.
        pooled.fill((1_000 / keys).max(1));
        // Until each key has had a turn.
        (0..keys).for_each(|_| pooled.cycle());
        by_key(operations, meter, &mut pooled, keys, |pooled, _| pooled.cycle());
    })
}

fn free() -> Scene {
    Scene::new("pool/nobody waits", |operations, meter| {
        let mut pooled = Pooled::new(CAPACITY, FEW);
        by_key(operations, meter, &mut pooled, FEW, |pooled, place| {
            let key = pooled.key(place);
            assert!(pooled.enter(key, 1), "there is room");
            pooled.release(key);
        });
    })
}

fn cancel(keys: usize) -> Scene {
    let scene = Scene::new(format!("pool/cancel of {keys}"), move |operations, meter| {
        let mut pooled = Pooled::new(CAPACITY, keys);
        pooled.fill(2 + 2 * CANCELLED / keys.min(CANCELLED));
        by_key(operations, meter, &mut pooled, keys, |pooled, place| pooled.cancel(pooled.key(place)));
    });
    scene.pace(Pace::Fixed(CANCELLED))
}

/// One key takes all units, which are lent to as many others.
fn take_back() -> Scene {
    let scene = Scene::new("pool/take back", |_, meter| {
        // The work is done twice at most.
        let mut pools = [all_lent(), all_lent()];
        let mut left = pools.iter_mut();
        meter(&mut || {
            let pooled = left.next().expect("a pool is left");
            let key = pooled.key(LIVE);
            assert!(pooled.enter(key, CAPACITY * 8), "all units are lent, and none is in use");
        });
    });
    scene.pace(Pace::Once(1))
}

fn all_lent() -> Pooled {
    let mut pooled = Pooled::new(CAPACITY * 8, LIVE + 1);
    let keys: Vec<_> = (0..LIVE).map(|place| pooled.key(place)).collect();
    for &key in &keys {
        assert!(pooled.enter(key, 1), "there is room");
    }
    for key in keys {
        pooled.release(key);
    }
    pooled
}
