//! The rules of the model: whose turn it is, which units may be taken, and who has a place.

use bulklink_core::pool::{Bound, Share};

use super::model::{CLASSES, Call, Cost, Key, Line, Model, ONE, Waiter};

/// Where a line stands among those that are eligible: the least is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    is_beyond_floor: bool,
    class: usize,
    /// Whether it costs more than a turn, before its turn has come up.
    is_undue: bool,
    level: u64,
    tag: u64,
    number: u64,
    key: Key,
}

impl Standing {
    pub fn line(&self) -> Line {
        Line { key: self.key, class: self.class }
    }
}

impl Model {
    pub fn in_use(&self) -> Cost {
        self.running.iter().map(|operation| operation.cost).sum()
    }

    pub fn in_use_of(&self, key: Key) -> Cost {
        self.running.iter().filter(|operation| operation.line.key == key).map(|operation| operation.cost).sum()
    }

    pub fn is_busy(&self, key: Key) -> bool {
        self.has_calls(|line| line.key == key)
    }

    /// Returns whether a call of this line runs or waits.
    pub fn is_line_busy(&self, line: Line) -> bool {
        self.has_calls(|one| one == line)
    }

    fn has_calls(&self, is_it: impl Fn(Line) -> bool) -> bool {
        self.running.iter().any(|operation| is_it(operation.line))
            || self.waiting.iter().any(|waiter| is_it(waiter.line))
    }

    pub fn lines(&self) -> impl Iterator<Item = Line> + use<> {
        let keys = 0..self.shares.len();
        keys.flat_map(|key| (0..CLASSES).map(move |class| Line { key, class }))
    }

    pub fn head(&self, line: Line) -> Option<&Waiter> {
        self.waiting.iter().find(|waiter| waiter.line == line)
    }

    /// Returns whether a key would be within this limit after a call of this cost.
    pub fn is_within(&self, key: Key, cost: Cost, limit: Cost) -> bool {
        self.in_use_of(key) + cost <= limit
    }

    pub fn is_within_floor(&self, key: Key, cost: Cost) -> bool {
        self.is_within(key, cost, self.shares[key].floor)
    }

    /// Returns whether the floor decides where a line stands: it is for the best class that the key
    /// has waiting and that is not held up.
    pub fn is_head_within_floor(&self, line: Line) -> bool {
        let is_best = self.heads_up_to(line).all(|head| head.line == line || self.held_up.contains(&head.line));
        is_best && self.head(line).is_some_and(|head| self.is_within_floor(line.key, head.cost))
    }

    /// A line may be served if it may run, and neither its head nor that of a better class of the
    /// key costs more than it can ever have, but for those that are held up.
    pub fn is_eligible(&self, line: Line) -> bool {
        let is_in_reach = |head: &Waiter| self.held_up.contains(&head.line) || self.may_ever_take(head.line, head.cost);
        self.may_run(line) && self.heads_up_to(line).all(is_in_reach)
    }

    /// A line may run if its key is not paused, its own limits do not hold it up, and neither its
    /// head nor that of a better class of the key that is not held up is beyond the ceiling.
    pub(super) fn may_run(&self, line: Line) -> bool {
        let share = &self.shares[line.key];
        let fits =
            |head: &Waiter| self.held_up.contains(&head.line) || self.is_within(line.key, head.cost, share.ceiling);
        let has_head = self.head(line).is_some() && !self.held_up.contains(&line);
        has_head && !share.is_paused && self.heads_up_to(line).all(fits)
    }

    fn heads_up_to(&self, line: Line) -> impl Iterator<Item = &Waiter> {
        (0..=line.class).filter_map(move |class| self.head(Line { class, ..line }))
    }

    pub fn is_contended(&self) -> bool {
        self.lines().any(|line| self.is_eligible(line))
    }

    pub(super) fn eligible_classes(&self) -> [bool; CLASSES] {
        std::array::from_fn(|class| self.lines().any(|line| line.class == class && self.is_eligible(line)))
    }

    /// The weights of all lines that are eligible.
    pub(super) fn weights(&self) -> u64 {
        let eligible = self.lines().filter(|&line| self.is_eligible(line));
        eligible.map(|line| u64::from(self.shares[line.key].weight)).sum()
    }

    /// As many units as the weight are one turn.
    fn level(&self, key: Key) -> u64 {
        u64::from(self.in_use_of(key) / self.shares[key].weight)
    }

    /// A key that has taken no turn for a round has the credit of one turn.
    pub(super) fn new_tag(&self, key: Key) -> u64 {
        (self.virtual_time - ONE).max(self.ends[key])
    }

    fn standing(&self, line: Line, cost: Cost, is_within_floor: bool, tag: u64, number: u64) -> Standing {
        let Line { key, class } = line;
        let is_wide = cost > self.shares[key].weight;
        let is_undue = !is_within_floor && is_wide && tag > self.virtual_time;
        let level = if is_within_floor || is_undue { 0 } else { self.level(key) };
        Standing { is_beyond_floor: !is_within_floor, class, is_undue, level, tag, number, key }
    }

    /// Returns all lines that are eligible, in any order.
    pub fn standings(&self) -> Vec<Standing> {
        let eligible = self.lines().filter(|&line| self.is_eligible(line));
        let standing = |line: Line| {
            let head = self.head(line).expect("an eligible line has a head");
            let turn = self.turns[line.key][line.class].expect("an eligible line has a turn");
            self.standing(line, head.cost, self.is_head_within_floor(line), turn.tag, turn.number)
        };
        eligible.map(standing).collect()
    }

    /// Returns the line that is served next, if it may take its units.
    pub fn next(&self) -> Option<Line> {
        let standings = self.standings();
        let first = standings.iter().min()?;
        let headroom = |line: &Line| self.limits.headroom[line.class];
        let may_take = |line: &Line, headroom: u32| {
            self.head(*line).is_some_and(|head| self.may_take_leaving(*line, head.cost, headroom))
        };
        if self.limits.relief > 0 && first.is_beyond_floor {
            let relieved = (1..CLASSES).filter(|&class| self.passed[class] >= self.limits.relief);
            let firsts = relieved.filter_map(|class| standings.iter().filter(|s| s.class == class).min());
            if let Some(line) = firsts.map(Standing::line).find(|line| may_take(line, 0)) {
                return Some(line);
            }
        }
        Some(first.line()).filter(|line| may_take(line, headroom(line)))
    }

    /// Returns whether a newcomer would be the next of all.
    pub(super) fn would_be_next(&self, line: Line, cost: Cost) -> bool {
        let share = &self.shares[line.key];
        let is_behind = |waiter: &Waiter| {
            let is_same = waiter.line == line;
            let is_better = waiter.line.key == line.key && waiter.line.class < line.class;
            is_same || is_better && !self.held_up.contains(&waiter.line)
        };
        if share.is_paused || !self.is_within(line.key, cost, share.ceiling) || self.waiting.iter().any(is_behind) {
            return false;
        }
        if self.held_up.contains(&line) {
            return false;
        }
        let turn = self.turns[line.key][line.class];
        let (tag, number) = turn.map_or((self.new_tag(line.key), u64::MAX), |turn| (turn.tag, turn.number));
        let own = self.standing(line, cost, self.is_within_floor(line.key, cost), tag, number);
        self.standings().iter().all(|other| own < *other)
    }

    /// Returns whether the units for this cost are free, and neither kept for other keys nor left
    /// to better classes.
    pub fn may_take(&self, line: Line, cost: Cost) -> bool {
        self.may_take_leaving(line, cost, self.limits.headroom[line.class])
    }

    fn may_take_leaving(&self, line: Line, cost: Cost, headroom: u32) -> bool {
        let Some(left) = self.free().checked_sub(cost) else { return false };
        let leaves_headroom = left >= headroom;
        left >= self.kept_for_others(line.key) && (self.is_within_floor(line.key, cost) || leaves_headroom)
    }

    /// Returns whether the units for this cost may be taken while no call runs.
    fn may_ever_take(&self, line: Line, cost: Cost) -> bool {
        let (share, limits) = (&self.shares[line.key], &self.limits);
        let Some(left) = limits.capacity.checked_sub(cost) else { return false };
        let of_others = self.kept_floors() - if share.is_kept { share.floor } else { 0 };
        left >= of_others && (cost <= share.floor || left >= limits.headroom[line.class])
    }

    pub fn free(&self) -> u32 {
        self.limits.capacity.saturating_sub(self.in_use())
    }

    /// The unused floors that are not lent, of all other keys.
    pub fn kept_for_others(&self, key: Key) -> u32 {
        let others = (0..self.shares.len()).filter(|&other| other != key && self.shares[other].is_kept);
        others.map(|other| self.shares[other].floor.saturating_sub(self.in_use_of(other))).sum()
    }

    pub(super) fn kept_floors(&self) -> u32 {
        self.shares.iter().filter(|share| share.is_kept).map(|share| share.floor).sum()
    }

    /// Returns whether a key may have this share.
    pub(super) fn is_valid(&self, key: Key, share: &Share) -> bool {
        let mut after = self.clone();
        after.shares[key] = *share;
        !share.is_kept || after.kept_floors() <= self.limits.capacity
    }

    /// Checks all limits of the room but the number of places.
    pub(super) fn check_room(&self, line: Line) -> Result<(), Bound> {
        let of_key = self.waiting.iter().filter(|waiter| waiter.line.key == line.key).count();
        if of_key >= self.shares[line.key].waiting_room as usize { Err(Bound::Key) } else { Ok(()) }
    }

    pub fn len(&self, line: Line) -> usize {
        self.waiting.iter().filter(|waiter| waiter.line == line).count()
    }

    /// Returns the newest waiter of the longest line of the worst class: for a call of its own
    /// class, only if that line has another waiter, and is longer than the call's would be.
    pub(super) fn to_displace(&self, line: Line) -> Option<Call> {
        let worst = self.waiting.iter().map(|waiter| waiter.line.class).max()?;
        if worst < line.class {
            return None;
        }
        let by_weight =
            |line: Line, more: usize| (self.len(line) + more) as u64 * ONE / u64::from(self.shares[line.key].weight);
        let lines = self.lines().filter(|line| line.class == worst && self.len(*line) > 0);
        let longest = lines.max_by_key(|&line| (by_weight(line, 0), self.changed[line.key][line.class]))?;
        let is_longer = self.len(longest) > 1 && by_weight(longest, 0) > by_weight(line, 1);
        if worst == line.class && !is_longer {
            return None;
        }
        self.waiting.iter().rev().find(|waiter| waiter.line == longest).map(|waiter| waiter.call)
    }

    /// Returns the limit because of which a call that may not wait is refused.
    pub(super) fn refusal(&self, line: Line, cost: Cost) -> Bound {
        // Where no line waits for its turn, the call is behind one of its own key at most.
        let is_held_up = !self.is_contended() && !self.would_be_next(line, cost);
        let share = &self.shares[line.key];
        let is_bound = is_held_up
            || self.held_up.contains(&line)
            || share.is_paused
            || !self.is_within(line.key, cost, share.ceiling);
        // A key that has the whole capacity is at no limit of its own.
        if is_bound && self.in_use_of(line.key) + cost <= self.limits.capacity {
            return Bound::Key;
        }
        if cost <= self.free() && !self.may_take(line, cost) { Bound::Headroom } else { Bound::Shared }
    }
}
