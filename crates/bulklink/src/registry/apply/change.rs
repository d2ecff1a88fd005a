//! A change of a member's limits, in two steps.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use crate::config::place::Place;
use crate::config::{self, Action, Problem};
use crate::reconfigure::Refused;
use crate::registry::configured::Shape;
use crate::registry::members::Member;

/// A member that has a section, and the limits that it gets.
pub(super) struct Change<'a> {
    pub(super) place: Place<'a>,
    /// The section's name for the capacity.
    pub(super) capacity_field: &'static str,
    pub(super) member: Arc<Member>,
    pub(super) from: Shape,
    pub(super) to: Shape,
}

impl Change<'_> {
    pub(super) fn is_none(&self) -> bool {
        self.from == self.to
    }

    /// Returns why the limits could not be changed so now.
    pub(super) fn check(&self) -> Result<(), Refused> {
        self.member.check(&self.to)
    }

    /// Shrinks the capacities that shrink, if there are any. Returns whether there are.
    pub(super) fn begin(&self) -> Result<bool, Refused> {
        let shrunk = self.from.shrunk(&self.to);
        shrunk.map_or(Ok(false), |shrunk| self.member.set(&shrunk).map(|_| true))
    }

    /// Changes all limits. Returns how many calls that admits.
    pub(super) fn finish(&self) -> Result<usize, Refused> {
        self.member.set(&self.to).map(|changed| changed.admitted)
    }

    /// Changes the limits back. A closed member needs none.
    pub(super) fn restore(&self) -> Result<(), ()> {
        match self.member.set(&self.from) {
            Ok(_) | Err(Refused::Closed) => Ok(()),
            Err(Refused::Invalid(_)) => Err(()),
        }
    }

    pub(super) fn problems(&self, refused: Refused) -> Vec<Problem> {
        let reasons = match refused {
            Refused::Closed => return vec![self.place.problem("is closed, and cannot be changed")],
            Refused::Invalid(reasons) => reasons,
        };
        let is_shared = self.to.setup.is_some_and(|setup| setup.capacity == self.to.limits.capacity);
        let capacity_field = if is_shared { "shared_capacity" } else { self.capacity_field };
        let problem = |text: &str, field: &str| match text.strip_prefix(field) {
            Some(rest) if field == "capacity" => self.place.field(capacity_field, rest.trim_start()),
            Some(rest) => self.place.field(field, rest.trim_start()),
            // Of a key, which is not named.
            None => self.place.problem(format_args!("cannot be changed: {text}")),
        };
        reasons.iter().map(|reason| problem(&reason.to_string(), reason.field())).collect()
    }

    pub(super) fn applied(&self, admitted: usize) -> config::Change {
        let (keys, shares) = self.from.keys_changed(&self.to);
        config::Change {
            label: Arc::clone(self.member.kind.label()),
            action: Action::Changed { previous: self.from.limits, limits: self.to.limits, keys, shares, admitted },
            capacity_field: self.capacity_field,
            setups: [self.from.setup, self.to.setup],
        }
    }
}
