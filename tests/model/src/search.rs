//! The exhaustive search: tries every script of inputs up to a depth. Scripts that begin alike
//! share their beginning.

use std::env;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};

/// A small world: the machine and its model side by side, which get the same inputs.
pub trait World {
    /// How a world begins.
    type Start: Debug;
    /// An input to the machine and its model.
    type Input: Copy + Debug;

    /// Makes the world.
    fn begin(start: &Self::Start) -> Self;
    /// Makes a copy, from which a script goes on that begins alike.
    #[must_use]
    fn fork(&self) -> Self;
    /// Returns the inputs that make sense in this state.
    fn options(&self) -> Vec<Self::Input>;
    /// Returns the rarer inputs, which are tried once at the end of every script.
    fn last_options(&self) -> Vec<Self::Input>;
    /// Gives both the input without checking the result, which has been checked in another copy.
    fn replay(&mut self, input: Self::Input);
    /// Gives both the input, and compares all of the machine's state and output with the model's.
    fn check(&mut self, input: Self::Input);
}

/// The depth of the gate's search in a plain `cargo test`. Each other search has its own depth,
/// and goes as much deeper as the gate's.
const USUAL: usize = 3;

/// How far a search goes, with the number of scripts and inputs that it must come to.
///
/// The search asserts the numbers, so that it cannot shrink unnoticed.
#[derive(Debug)]
pub struct Extent {
    /// The length of a script, without its last input.
    pub depth: usize,
    /// The number of complete scripts.
    pub scripts: u64,
    /// The number of inputs that were checked.
    pub inputs: u64,
}

/// Searches all worlds to the depth of the first extent, the usual one. The others are deeper.
///
/// `BULKLINK_DEPTH` changes the depth: by as much as it is more or less than 3.
///
/// # Panics
///
/// Panics where the machine and its model differ, and where the counts are not those of the extent
/// of this depth.
pub fn search<W: World>(name: &str, worlds: &[W::Start], extents: &[Extent]) {
    let depth = extra_depth(extents[0].depth);
    let mut search = Search::default();
    for start in worlds {
        search.explore(start, &W::begin(start), &mut vec![], depth);
    }
    println!("{name}: {} scripts, {} inputs", search.scripts, search.inputs);
    if let Some(extent) = extents.iter().find(|extent| extent.depth == depth) {
        let expected = (extent.scripts, extent.inputs);
        assert_eq!((search.scripts, search.inputs), expected, "the search has changed its extent");
    }
}

/// Returns the depth of a search: the usual one, and as much as the gate's search goes deeper.
pub(crate) fn extra_depth(usual: usize) -> usize {
    (usual + depth_asked_for().unwrap_or(USUAL)).saturating_sub(USUAL)
}

fn depth_asked_for() -> Option<usize> {
    let text = env::var("BULKLINK_DEPTH").ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("BULKLINK_DEPTH must be a number of inputs, got {text}")))
}

#[derive(Default)]
struct Search {
    scripts: u64,
    inputs: u64,
}

impl Search {
    /// Tries every input after `script`, and every longer script. `world` is the one after it.
    /// Each input is checked in a copy of its own, because a check takes the output.
    fn explore<W: World>(&mut self, start: &W::Start, world: &W, script: &mut Vec<W::Input>, left: usize) {
        let options = if left == 0 { world.last_options() } else { world.options() };
        for input in options {
            script.push(input);
            self.inputs += 1;
            try_last(start, &mut world.fork(), script);
            if left == 0 {
                self.scripts += 1;
            } else {
                let mut next = world.fork();
                next.replay(input);
                self.explore(start, &next, script, left - 1);
            }
            script.pop();
        }
    }
}

/// Gives the last input of the script to the world after the others, and checks everything after
/// it.
fn try_last<W: World>(start: &W::Start, world: &mut W, script: &[W::Input]) {
    let &last = script.last().expect("a script has an input");
    panic::catch_unwind(AssertUnwindSafe(|| world.check(last))).unwrap_or_else(|cause| {
        eprintln!("in {start:?}\nafter {script:#?}");
        panic::resume_unwind(cause)
    });
}
