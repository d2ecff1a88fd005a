//! The declarations of processes, and their changes.

use std::time::Duration;

use bulklink_fleet::share::{Declaration, Terms};

use crate::world::{Member, World};

impl World {
    /// Returns the settings of a release: the later ones have a shorter and a longer lease.
    pub(crate) fn declaration(&self, release: usize) -> Declaration {
        let [lease, claim] = lease_and_claim(release);
        let terms = Terms { lease, claim, calm: Duration::from_millis(2), recovers: self.recovers };
        let limit = self.limit + u32::from(release % 3 == 2);
        Declaration { config: 1 + release as u64, limit, terms }
    }

    /// A process that goes on has the next declaration, or one that another may contradict.
    pub(crate) fn change_release(&mut self, place: usize, contradicts: bool) {
        self.budget.upgrades -= 1;
        self.members[place].release += 1;
        let Member { weight, release, .. } = self.members[place];
        let declaration = self.declaration(release);
        let limit = declaration.limit + u32::from(contradicts);
        self.members[place].share.declare(weight, Declaration { limit, ..declaration });
    }

    /// All processes have the same declaration from now on, which is later than any before: no
    /// contradiction is left.
    pub(crate) fn agree(&mut self) {
        let release = self.members.iter().map(|member| member.release).max().map_or(0, |latest| latest + 1);
        let declaration = self.declaration(release);
        for member in &mut self.members {
            member.release = release;
            member.share.declare(member.weight, declaration);
        }
    }
}

pub(crate) fn lease_and_claim(release: usize) -> [Duration; 2] {
    [[6, 2], [3, 2], [8, 3]][release % 3].map(Duration::from_millis)
}
