//! Changing the limits and the shares of keys in one step.

use super::{Key, Limits, Lines, Pool, Share};
use crate::InvalidArgument;

impl Share {
    /// Returns these units if the floor is kept.
    fn kept_floor(&self) -> u64 {
        if self.is_kept { self.floor.into() } else { 0 }
    }
}

impl Pool {
    /// Changes the limits and the shares of these keys, each of them named once, as
    /// [`reconfigure`](Pool::reconfigure) and [`set_share`](Pool::set_share) do, but in one step:
    /// the floors that are kept in the end count. A share without a key is that of a new one, which
    /// is added and named. [`serve`](Pool::serve) must follow.
    ///
    /// # Errors
    ///
    /// As [`check_change`](Pool::check_change). Nothing has changed then.
    pub fn change(
        &mut self,
        lines: &mut impl Lines,
        limits: Limits,
        shares: &mut [(Option<Key>, Share)],
    ) -> Result<(), InvalidArgument> {
        self.check_change(lines, &limits, shares)?;
        // Nothing that follows is refused. In between, none of these keys keeps a floor: so neither
        // a capacity nor a floor is in the way of another.
        for (key, share) in shares.iter_mut() {
            let lent = Share { is_kept: false, ..*share };
            let set = match *key {
                Some(known) if *self.share(known) == *share && !share.is_kept => Ok(()),
                Some(known) => self.set_share(known, lent),
                None => self.add(lent).map(|added| *key = Some(added)),
            };
            set?;
        }
        // This takes back what is lent, also beyond a lower ceiling.
        self.reconfigure(lines, limits)?;
        let kept = shares.iter().filter(|(_, share)| share.is_kept);
        kept.filter_map(|&(key, share)| Some((key?, share))).try_for_each(|(key, share)| self.set_share(key, share))
    }

    /// Checks such a change.
    ///
    /// # Errors
    ///
    /// If a limit or a weight is out of range, or if the capacity would be less than a waiting call
    /// costs or than the floors that are [kept](Share::is_kept) then.
    pub fn check_change(
        &self,
        lines: &mut impl Lines,
        limits: &Limits,
        shares: &[(Option<Key>, Share)],
    ) -> Result<(), InvalidArgument> {
        limits.check()?;
        let mut floors = self.kept_floors;
        for (key, share) in shares {
            share.check_weight()?;
            floors = floors - key.map_or(0, |key| self.share(key).kept_floor()) + share.kept_floor();
        }
        self.check_capacity(lines, limits, floors)
    }

    /// Checks the capacity for the calls that wait, and for floors that are kept.
    pub(super) fn check_capacity(
        &self,
        lines: &mut impl Lines,
        limits: &Limits,
        floors: u64,
    ) -> Result<(), InvalidArgument> {
        limits.check_capacity(floors.max(self.largest_waiting_cost(lines).into()))
    }
}
