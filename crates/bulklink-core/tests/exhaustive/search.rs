//! Trying every script: what the search of gates and that of partitions share.

use std::env;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};

/// One small world: the machine and its model side by side, given the same inputs.
pub trait World {
    type Start: Debug;
    type Input: Copy + Debug;

    fn begin(start: &Self::Start) -> Self;
    /// The inputs that make sense here.
    fn options(&self) -> Vec<Self::Input>;
    /// The rarer inputs, tried once at the end of every script.
    fn last_options(&self) -> Vec<Self::Input>;
    /// Gives both the input, of which all has been checked before.
    fn replay(&mut self, input: Self::Input);
    /// Gives both the input, and holds everything that comes of it against the model.
    fn check(&mut self, input: Self::Input);
}

/// How far a search goes: the length of its scripts besides the last input, and the numbers of scripts and inputs that this
/// comes to, so that it cannot shrink unnoticed.
pub struct Extent {
    pub depth: usize,
    pub scripts: u64,
    pub inputs: u64,
}

/// Searches all worlds, as deep as the extent says, or by as much deeper as `BULKLINK_DEPTH` is more than `usual`.
pub fn search<W: World>(name: &str, worlds: &[W::Start], usual: usize, extent: &Extent) {
    let depth = (extent.depth + depth_asked_for().unwrap_or(usual)).saturating_sub(usual);
    let mut search = Search::default();
    for start in worlds {
        search.explore::<W>(start, &mut vec![], depth);
    }
    println!("{name}: {} scripts, {} inputs", search.scripts, search.inputs);
    if depth == extent.depth {
        let expected = (extent.scripts, extent.inputs);
        assert_eq!((search.scripts, search.inputs), expected, "the search has changed its extent");
    }
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
    /// Tries every input after `script`, each in a world of its own, and every script that goes on from there.
    fn explore<W: World>(&mut self, start: &W::Start, script: &mut Vec<W::Input>, left: usize) {
        let world = replay::<W>(start, script);
        let options = if left == 0 { world.last_options() } else { world.options() };
        for input in options {
            script.push(input);
            self.inputs += 1;
            try_last::<W>(start, script);
            if left == 0 {
                self.scripts += 1;
            } else {
                self.explore::<W>(start, script, left - 1);
            }
            script.pop();
        }
    }
}

fn replay<W: World>(start: &W::Start, script: &[W::Input]) -> W {
    let mut world = W::begin(start);
    for &input in script {
        world.replay(input);
    }
    world
}

/// Replays all but the last input, and checks everything after that one.
fn try_last<W: World>(start: &W::Start, script: &[W::Input]) {
    let (&last, before) = script.split_last().expect("a script to try");
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| replay::<W>(start, before).check(last)));
    if let Err(cause) = outcome {
        eprintln!("in {start:?}\nafter {script:#?}");
        panic::resume_unwind(cause);
    }
}
