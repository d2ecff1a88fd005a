//! The floors of keys that are kept for them.

use super::{Cost, KINDS, KeyState, Pool, Share};
use crate::InvalidArgument;
use crate::slab::Place;

impl KeyState {
    /// Returns the part of the floor that is not in use, nor lent.
    pub(super) fn unused_floor(&self) -> Cost {
        KINDS.map(|d| self.share.floor[d].saturating_sub(self.in_use[d]))
    }
}

impl Pool {
    /// Adds the unused floor of a key to what is kept, or takes it away.
    pub(super) fn keep(&mut self, key: Place, is_added: bool) {
        let state = &self.keys[key];
        if state.share.is_kept {
            let unused = state.unused_floor();
            self.kept = KINDS.map(|d| if is_added { self.kept[d] + unused[d] } else { self.kept[d] - unused[d] });
        }
    }

    pub(super) fn count_floor(&mut self, key: Place, is_added: bool) {
        let share = &self.keys[key].share;
        if !share.is_kept {
            return;
        }
        for d in KINDS {
            let floor = u64::from(share.floor[d]);
            self.kept_floors[d] = if is_added { self.kept_floors[d] + floor } else { self.kept_floors[d] - floor };
        }
    }

    pub(super) fn check(&self, share: &Share, kept_before: Cost) -> Result<(), InvalidArgument> {
        share.check_weight()?;
        if !share.is_kept {
            return Ok(());
        }
        for d in KINDS {
            let floors = self.kept_floors[d] - u64::from(kept_before[d]) + u64::from(share.floor[d]);
            if floors > u64::from(self.limits.capacity[d]) {
                let capacity = self.limits.capacity[d];
                let why =
                    alloc::format!("must leave the kept floors of all keys, {floors}, within the capacity, {capacity}");
                return Err(InvalidArgument::new("floor", share.floor[d], why));
            }
        }
        Ok(())
    }
}
