//! What holds in a world of a pool after every input, told without the order of its model.

use bulklink_core::pool::Pool;

use super::lines::Driven;
use super::model::{Line, Waiter};
use super::world::{Counts, World};

impl<L: Driven> World<L> {
    /// Compares everything that can be read with the model, and checks the laws.
    pub(super) fn check_all(&mut self) {
        self.check_figures();
        self.check_words();
        self.check_bounds();
        self.check_floors();
        self.check_conservation();
    }

    fn check_figures(&self) {
        let (pool, model) = (&self.pool, &self.model);
        let mut held = 0;
        for (key, id) in self.keys.iter().enumerate().filter_map(|(key, id)| Some((key, (*id)?))) {
            let of_key = pool.in_use_of(id);
            assert_eq!(of_key, model.in_use_of(key) + self.offered_to(key), "a key holds what it uses or is lent");
            held += of_key;
        }
        assert_eq!(pool.in_use(), held, "in use by key is in use");
        assert_eq!(pool.waiting() as usize, model.waiting.len());
        assert_eq!((pool.displaced(), pool.peak_in_use()), (model.displaced, model.peak));
        assert_eq!(pool.is_contended(), model.is_contended());
        assert!(!pool.wants_now() && model.next().is_none(), "no unit waits for the next");
        assert_eq!(pool.limits(), &model.limits);
    }

    fn offered_to(&self, key: usize) -> u32 {
        let lines = self.model.lines().filter(|line| line.key == key);
        lines.filter_map(|line| self.id(line)).map(|id| self.lines.offered(id)).sum()
    }

    fn check_words(&self) {
        let ids = self.model.lines().filter_map(|line| self.id(line));
        let live = ids.filter(|&id| self.lines.is_live(id)).count();
        assert!(live <= Pool::LIVE as usize);
        assert!(live == 0 || !self.pool.is_contended(), "no word is live while any line waits for its turn");
    }

    /// Only a change of the limits leaves more in use than they allow, and nothing is lent then.
    fn check_bounds(&self) {
        let (used, held, capacity) = (self.model.in_use(), self.pool.in_use(), self.model.limits.capacity);
        assert!(held <= capacity || self.is_changed && used > capacity && held == used);
        let floors = self.model.kept_for_others(usize::MAX);
        assert!(self.is_changed || capacity - used >= floors, "kept floors are free");
        for (key, share) in self.model.shares.iter().enumerate() {
            let of_key = self.model.in_use_of(key);
            assert!(self.is_changed || of_key <= share.ceiling, "the ceiling of a key");
        }
        let (waiting, room) = (self.model.waiting.len(), self.model.limits.waiting_room as usize);
        assert!(self.is_changed || waiting <= room, "no more wait than there is room");
        let may_wait = !self.start.is_plain() || !self.waits_for_a_unit() || used >= capacity;
        assert!(may_wait, "no unit is free while a line waits that may take it");
    }

    /// Returns whether all waiters want one unit, and any is neither held up nor at the ceiling of
    /// its key.
    fn waits_for_a_unit(&self) -> bool {
        let may_run = |waiter: &Waiter| {
            let (key, share) = (waiter.line.key, &self.model.shares[waiter.line.key]);
            let is_held_up = share.is_paused || self.model.held_up.contains(&waiter.line);
            !is_held_up && self.model.in_use_of(key) < share.ceiling
        };
        let waiting = &self.model.waiting;
        waiting.iter().all(|waiter| waiter.cost == 1) && waiting.iter().any(may_run)
    }

    /// The first of those within their floor wait only for units that are not there.
    fn check_floors(&self) {
        let model = &self.model;
        let within = |line: &Line| model.is_eligible(*line) && model.is_head_within_floor(*line);
        let mut heads = model.lines().filter(within).filter_map(|line| model.head(line)).peekable();
        let is_there = |waiter: &Waiter| waiter.cost + model.kept_for_others(waiter.line.key) <= model.free();
        let is_none = heads.peek().is_none();
        assert!(is_none || heads.any(|head| !is_there(head)), "floors come first");
    }

    fn check_conservation(&self) {
        let Counts { came, refused, released, cancelled, expired, displaced } = self.counts;
        let (running, waiting) = (self.model.running.len(), self.model.waiting.len());
        assert_eq!(came, refused + released + cancelled + expired + displaced + running + waiting);
        assert_eq!(self.pool.displaced(), displaced as u64);
    }
}
