//! The floors of keys that are kept for them.

use super::{KeyState, Pool, Share};
use crate::InvalidArgument;
use crate::slab::Place;

impl KeyState {
    /// Returns the part of the floor that is not in use, nor lent.
    pub(super) fn unused_floor(&self) -> u32 {
        self.share.floor.saturating_sub(self.in_use)
    }
}

impl Pool {
    /// Adds the unused floor of a key to what is kept, or takes it away.
    pub(super) fn keep(&mut self, key: Place, is_added: bool) {
        let state = &self.keys[key];
        if state.share.is_kept {
            let unused = state.unused_floor();
            self.kept = if is_added { self.kept + unused } else { self.kept - unused };
        }
    }

    pub(super) fn count_floor(&mut self, key: Place, is_added: bool) {
        let share = &self.keys[key].share;
        if share.is_kept {
            let floor = u64::from(share.floor);
            self.kept_floors = if is_added { self.kept_floors + floor } else { self.kept_floors - floor };
        }
    }

    pub(super) fn check(&self, share: &Share, kept_before: u32) -> Result<(), InvalidArgument> {
        share.check_weight()?;
        if !share.is_kept {
            return Ok(());
        }
        let floors = self.kept_floors - u64::from(kept_before) + u64::from(share.floor);
        let capacity = self.limits.capacity;
        if floors > u64::from(capacity) {
            let why =
                alloc::format!("must leave the kept floors of all keys, {floors}, within the capacity, {capacity}");
            return Err(InvalidArgument::new("floor", share.floor, why));
        }
        Ok(())
    }
}
