//! Random calls of all classes, against a plain account of units.

use bulklink::OwnedSlot;
use bulklink::partitions::{Class, Share};
use bulklink::testing::Executor;

use super::soak::Random;
use super::{Models, builder, shared};
use crate::{Call, executor, ms};

const KEYS: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// What is in use and who waits, as the calls themselves tell it.
struct Account {
    models: Models,
    executor: Executor,
    capacity: usize,
    ceilings: [usize; KEYS.len()],
    running: Vec<(usize, OwnedSlot)>,
    waiting: Vec<(usize, Call)>,
    /// The units that were written off, of each key for as long as it has a partition, and in all.
    written_off: ([usize; KEYS.len()], usize),
    peak: usize,
}

#[test]
fn units_are_accounted_for_by_key() {
    (1..60).for_each(|seed| play(&mut Random(seed * 7_919)));
}

fn play(random: &mut Random) {
    let executor = executor();
    // A key that writes units off is not evicted: it would come again without them.
    let is_evicted = random.below(2) == 0;
    let max = if is_evicted { 3 + random.below(8) } else { 20 };
    let builder = builder(&executor).shared_capacity(5).shared_waiting_room(6).max_partitions(max);
    let models = builder.idle_timeout(ms(5)).wait_limit(ms(50)).build().expect("valid");
    let (running, waiting, written_off) = (vec![], vec![], ([0; KEYS.len()], 0));
    let ceilings = [usize::MAX; KEYS.len()];
    let mut account = Account { models, executor, capacity: 5, ceilings, running, waiting, written_off, peak: 0 };
    for _ in 0..300 {
        account.step(random, is_evicted);
        account.settle();
        account.check();
    }
}

impl Account {
    fn step(&mut self, random: &mut Random, is_evicted: bool) {
        let (key, class) = (random.below(KEYS.len()), Class::ALL[random.below(Class::ALL.len())]);
        let models = self.models.class(class);
        match random.below(16) {
            0..=5 => self.waiting.push((key, self.executor.spawn(models.key(KEYS[key]).slot()))),
            6..=9 => drop(self.take_running(random)),
            10 if !is_evicted && self.written_off.1 + 1 < self.capacity => {
                let Some((key, slot)) = self.take_running(random) else { return };
                slot.forget();
                self.written_off.0[key] += 1;
                self.written_off.1 += 1;
            }
            11 => _ = models.discard(KEYS[key]),
            12 => _ = models.handle().cleanup_idle(),
            13 => {
                self.ceilings[key] = 1 + random.below(4);
                models.set_share(KEYS[key], Share::new().ceiling(self.ceilings[key])).expect("valid");
            }
            14 => {
                self.capacity = 2 + random.below(5);
                models.resize_shared(self.capacity).expect("each call costs one unit");
            }
            _ => self.executor.advance(ms(3)),
        }
    }

    fn take_running(&mut self, random: &mut Random) -> Option<(usize, OwnedSlot)> {
        let place = random.below(self.running.len().max(1));
        (place < self.running.len()).then(|| self.running.swap_remove(place))
    }

    /// Collects the slots of the calls that have ended.
    fn settle(&mut self) {
        self.executor.run_until_idle();
        let (ended, waiting) = self.waiting.drain(..).partition(|(_, call)| call.is_finished());
        self.waiting = waiting;
        let ended: Vec<(usize, Call)> = ended;
        let slot = |(key, call): (usize, Call)| Some((key, call.output()?.ok()?));
        self.running.extend(ended.into_iter().filter_map(slot));
        for (key, units) in KEYS.iter().zip(&mut self.written_off.0) {
            let mut classes = Class::ALL.into_iter();
            if classes.all(|class| self.models.class(class).partition(*key).is_none()) {
                *units = 0;
            }
        }
    }

    fn check(&mut self) {
        let status = shared(&self.models);
        self.peak = self.peak.max(status.in_use);
        let in_use = self.running.len() + self.written_off.1;
        assert_eq!((status.in_use, status.waiting, status.peak_in_use), (in_use, self.waiting.len(), self.peak));
        for &(key, _) in &self.waiting {
            let of_key = self.running.iter().filter(|slot| slot.0 == key).count() + self.written_off.0[key];
            assert!(in_use >= self.capacity || of_key >= self.ceilings[key], "a call that waits is forgotten");
        }
    }
}
