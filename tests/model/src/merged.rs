//! An exhaustive search that merges equal states: it tries every script of inputs up to a depth,
//! and continues from each state once.
//!
//! It suits machines that can be compared. [`search`](crate::search) suits those that can only be
//! copied, and is the simpler one.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::search::extra_depth;

/// A small world, with all that decides on its steps.
pub trait World: Clone + Hash {
    /// An input to the world.
    type Input: Copy + Debug;

    /// Returns the inputs that make sense in this state.
    fn options(&self) -> Vec<Self::Input>;
    /// Takes an input, and panics if a rule is broken afterwards.
    fn step(&mut self, input: Self::Input);
}

/// How far a search goes, with the numbers that it must come to.
#[derive(Debug, PartialEq, Eq)]
pub struct Extent {
    /// The length of a script.
    pub depth: usize,
    /// The number of scripts.
    pub scripts: u64,
    /// The number of inputs that were given, each in another state or at another depth.
    pub steps: u64,
}

/// Searches all worlds to the depth of the first extent, the usual one. The others are deeper.
///
/// `BULKLINK_DEPTH` changes the depth as it does in [`search`](crate::search::search).
///
/// # Panics
///
/// Panics if a rule is broken, with the script, and if the numbers are not those of the extent of
/// this depth.
pub fn search<W: World>(name: &str, starts: &[W], extents: &[Extent]) {
    let depth = extra_depth(extents[0].depth);
    let found = explore(starts, depth);
    println!("{name}: {found:?}");
    if let Some(extent) = extents.iter().find(|extent| extent.depth == depth) {
        assert_eq!(found, *extent, "the search has changed its extent");
    }
}

/// Searches all worlds to a depth, and returns the extent.
///
/// # Panics
///
/// Panics if a rule is broken, with the script.
pub fn explore<W: World>(starts: &[W], depth: usize) -> Extent {
    let mut found = Extent { depth, scripts: 0, steps: 0 };
    for start in starts {
        let mut search = Search { steps: 0, seen: vec![HashMap::new(); depth + 1], script: Script(vec![]) };
        found.scripts += search.explore(start, depth);
        found.steps += search.steps;
    }
    found
}

struct Search<I: Debug> {
    steps: u64,
    /// The number of scripts that follow each state, by the inputs that are left.
    seen: Vec<HashMap<u64, u64>>,
    script: Script<I>,
}

/// Prints itself if a rule is broken.
struct Script<I: Debug>(Vec<I>);

impl<I: Debug> Drop for Script<I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("after {:?}", self.0);
        }
    }
}

impl<I: Copy + Debug> Search<I> {
    /// Returns the number of scripts.
    fn explore<W: World<Input = I>>(&mut self, world: &W, left: usize) -> u64 {
        if left == 0 {
            return 1;
        }
        let mut hasher = DefaultHasher::new();
        world.hash(&mut hasher);
        let state = hasher.finish();
        if let Some(scripts) = self.seen[left].get(&state) {
            return *scripts;
        }
        let mut scripts = 0;
        for input in world.options() {
            let mut next = world.clone();
            self.script.0.push(input);
            self.steps += 1;
            next.step(input);
            scripts += self.explore(&next, left - 1);
            self.script.0.pop();
        }
        self.seen[left].insert(state, scripts);
        scripts
    }
}
