//! The shelf beside a model without links and index, in random scripts.

use proptest::prelude::*;

use super::{LOOKS, Shelf, Standing};

/// A key; keys with one remainder by `HASHES` have one hash.
type Key = u64;
const HASHES: u64 = 7;

/// The entries from the coldest to the warmest.
#[derive(Default)]
struct Model(Vec<Key>);

impl Model {
    fn warm(&mut self, key: Key) {
        self.0.retain(|other| *other != key);
        self.0.push(key);
    }

    fn touch(&mut self, hash: u64) -> Vec<Key> {
        let found: Vec<_> = self.0.iter().copied().filter(|key| key % HASHES == hash).collect();
        for key in &found {
            self.warm(*key);
        }
        found
    }

    fn insert(&mut self, key: Key, max: usize, standing: impl Fn(Key) -> Standing) -> Result<Option<Key>, Key> {
        if self.0.len() < max {
            self.0.push(key);
            return Ok(None);
        }
        let looked: Vec<_> = self.0.iter().copied().take(LOOKS).collect();
        let calm = looked.iter().position(|key| standing(*key) == Standing::Calm);
        for kept in &looked[..calm.unwrap_or(looked.len())] {
            if standing(*kept) == Standing::Kept {
                self.warm(*kept);
            }
        }
        let marked = || looked.iter().position(|key| standing(*key) == Standing::Marked);
        let evicted = looked[calm.or_else(marked).ok_or(key)?];
        self.0.retain(|other| *other != evicted);
        self.0.push(key);
        Ok(Some(evicted))
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Touch(u64),
    Insert(Key),
    Stand(Key, Standing),
}

fn script() -> impl Strategy<Value = (usize, Vec<Step>)> {
    let standing = prop_oneof![Just(Standing::Calm), Just(Standing::Marked), Just(Standing::Kept)];
    let step = prop_oneof![
        2 => (0..HASHES).prop_map(Step::Touch),
        4 => (0..200_u64).prop_map(Step::Insert),
        3 => (0..200_u64, standing).prop_map(|(key, standing)| Step::Stand(key, standing)),
    ];
    (prop_oneof![1..6_usize, Just(50)], prop::collection::vec(step, 0..400))
}

proptest! {
    #[test]
    fn the_shelf_does_what_the_model_does((max, script) in script()) {
        let (mut shelf, mut model) = (Shelf::new(max), Model::default());
        let mut standings = [Standing::Kept; 200];
        for step in script {
            match step {
                Step::Touch(hash) => {
                    // In which order, is up to the index; those that are touched together are as
                    // warm.
                    let mut found: Vec<_> = shelf.touch(hash).iter().copied().collect();
                    let order = found.clone();
                    found.sort_unstable();
                    let mut expected = model.touch(hash);
                    for key in order {
                        model.warm(key);
                    }
                    expected.sort_unstable();
                    prop_assert_eq!(found, expected);
                }
                Step::Insert(key) if model.0.contains(&key) => {}
                Step::Insert(key) => {
                    let standing = |key: Key| standings[usize::try_from(key).expect("small")];
                    let evicted = shelf.insert(key % HASHES, key, |key| standing(*key));
                    prop_assert_eq!(evicted, model.insert(key, max, standing));
                    if let Ok(Some(evicted)) = evicted {
                        prop_assert!(standing(evicted) != Standing::Kept);
                    }
                }
                Step::Stand(key, standing) => standings[usize::try_from(key).expect("small")] = standing,
            }
            let all: Vec<_> = shelf.iter().copied().collect();
            prop_assert!(all.iter().eq(model.0.iter().rev()));
            prop_assert!(shelf.len() == all.len() && all.len() <= max);
        }
    }
}
