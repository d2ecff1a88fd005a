//! Random configurations against a simple model: each is applied as a whole, or changes nothing.

use std::collections::BTreeMap;

use bulklink::OwnedSlot;
use bulklink::config::{BulkheadConfig, Config, KeyConfig, PartitionsConfig};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::World;

/// A step of a script: a configuration, or a slot that is taken, or all that are released.
#[derive(Clone, Debug)]
enum Step {
    Apply(Config),
    Hold(usize),
    Release,
    Close(usize),
}

const LABELS: [&str; 4] = ["a", "b", "c", "d"];

/// The expected registry: for each label, its kind with its limits, how many slots are held, and
/// whether it is being removed or closed.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    is_partitions: bool,
    limits: (usize, usize),
    fixed: (bool, Option<usize>),
    keys: BTreeMap<String, usize>,
    /// The capacity that all keys share.
    shared: Option<usize>,
    /// The weights and the kept floors of keys with shares of their own.
    shares: BTreeMap<String, (usize, usize)>,
    held: usize,
    is_leaving: bool,
    is_closed: bool,
}

type Model = BTreeMap<String, Entry>;

fn number() -> impl Strategy<Value = Option<usize>> {
    prop_oneof![8 => (1..5_usize).prop_map(Some), 1 => Just(None), 1 => Just(Some(0))]
}

fn label() -> impl Strategy<Value = String> {
    (0..LABELS.len()).prop_map(|label| LABELS[label].to_owned())
}

prop_compose! {
    fn bulkhead()(parallelism in number(), room in option::of(0..3_usize), holds in prop::bool::weighted(0.1))
        -> BulkheadConfig
    {
        let mut config = BulkheadConfig::default();
        (config.parallelism, config.waiting_room, config.measure_holds) = (parallelism, room, Some(holds));
        config
    }
}

fn share() -> impl Strategy<Value = (Option<usize>, Option<usize>)> {
    (option::of(prop_oneof![9 => 1..4_usize, 1 => Just(0)]), option::of(0..4_usize))
}

prop_compose! {
    fn partitions()(
        parallelism in number(),
        max in prop_oneof![9 => Just(Some(9)), 1 => Just(None), 1 => Just(Some(8))],
        shared in prop_oneof![1 => Just(None), 2 => option::weighted(0.95, 1..9_usize)],
        keys in btree_map("[xy]", (prop_oneof![5 => 1..4_usize, 1 => Just(0)], share()), 0..3),
        has_shares in prop::bool::weighted(0.9),
    ) -> PartitionsConfig {
        let mut config = PartitionsConfig::default();
        (config.parallelism, config.max_partitions, config.shared_capacity) = (parallelism, max, shared);
        for (key, (capacity, (weight, floor))) in keys {
            let mut own = KeyConfig::default();
            own.parallelism = Some(capacity);
            if shared.is_some() == has_shares {
                (own.weight, own.floor, own.keep_floor) = (weight, floor, floor.map(|floor| floor > 0));
            }
            config.keys.insert(key, own);
        }
        config
    }
}

prop_compose! {
    fn config()(
        bulkheads in btree_map(label(), bulkhead(), 0..4),
        partitions in btree_map(label(), partitions(), 0..2),
        may_share in prop::bool::weighted(0.1),
    ) -> Config {
        let mut config = Config::default();
        config.bulkheads = bulkheads;
        config.partitions = partitions;
        if !may_share {
            config.bulkheads.retain(|label, _| !config.partitions.contains_key(label));
        }
        config
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => config().prop_map(Step::Apply),
        3 => (0..LABELS.len()).prop_map(Step::Hold),
        1 => Just(Step::Release),
        1 => (0..LABELS.len()).prop_map(Step::Close),
    ]
}

fn entries(config: &Config) -> Option<Model> {
    let in_range = |value: Option<usize>| value.filter(|value| *value > 0);
    let mut model = Model::new();
    for (label, section) in &config.bulkheads {
        let limits = (in_range(section.parallelism)?, section.waiting_room.unwrap_or(0));
        let fixed = (section.measure_holds == Some(true), None);
        let entry = Entry {
            is_partitions: false,
            limits,
            fixed,
            keys: BTreeMap::new(),
            shared: None,
            shares: BTreeMap::new(),
            held: 0,
            is_leaving: false,
            is_closed: false,
        };
        model.insert(label.clone(), entry);
    }
    for (label, section) in &config.partitions {
        let keys = section.keys.iter().map(|(key, own)| Some((key.clone(), in_range(own.parallelism)?)));
        let capacity = section.parallelism.or(section.shared_capacity);
        let entry = Entry {
            is_partitions: true,
            limits: (in_range(capacity)?, 0),
            fixed: (false, Some(section.max_partitions?)),
            keys: keys.collect::<Option<_>>()?,
            shared: section.shared_capacity,
            shares: shares(section)?,
            held: 0,
            is_leaving: false,
            is_closed: false,
        };
        if model.insert(label.clone(), entry).is_some() {
            return None;
        }
    }
    Some(model)
}

/// Returns the shares of keys, unless they are invalid.
fn shares(section: &PartitionsConfig) -> Option<BTreeMap<String, (usize, usize)>> {
    let own = section.keys.iter().filter(|(_, own)| own.weight.is_some() || own.floor.is_some());
    let shares = own.map(|(key, own)| (key.clone(), (own.weight.unwrap_or(1), own.floor.unwrap_or(0))));
    let shares: BTreeMap<_, _> = shares.collect();
    let kept: usize = shares.values().map(|(_, floor)| floor).sum();
    let is_valid =
        shares.values().all(|(weight, _)| *weight > 0) && section.shared_capacity.is_none_or(|all| kept <= all);
    (is_valid && (shares.is_empty() || section.shared_capacity.is_some())).then_some(shares)
}

/// Returns the model after a configuration, or `None` if it must be refused.
fn applied(model: &Model, config: &Config) -> Option<Model> {
    let mut after = entries(config)?;
    for (label, before) in model {
        let Some(entry) = after.get_mut(label) else {
            // Without calls, it is gone immediately.
            if before.held > 0 {
                after.insert(label.clone(), Entry { is_leaving: true, is_closed: true, ..before.clone() });
            }
            continue;
        };
        let same_shares = entry.shared == before.shared && entry.shares == before.shares;
        let same_limits = entry.limits == before.limits && entry.keys == before.keys && same_shares;
        let same_kind = entry.is_partitions == before.is_partitions && entry.fixed == before.fixed;
        let same_kind = same_kind && entry.shared.is_some() == before.shared.is_some();
        if before.is_leaving || !same_kind || (before.is_closed && !same_limits) {
            return None;
        }
        (entry.held, entry.is_closed) = (before.held, before.is_closed);
    }
    Some(after)
}

/// Returns the model of a registry.
fn seen(world: &World, held: &BTreeMap<String, Vec<OwnedSlot>>) -> Model {
    let mut model = Model::new();
    for handle in world.registry.handles() {
        let (limits, label) = (handle.limits(), handle.label().to_owned());
        model.insert(
            label.clone(),
            Entry {
                is_partitions: false,
                limits: (limits.capacity, limits.waiting_room),
                fixed: (false, None),
                keys: BTreeMap::new(),
                shared: None,
                shares: BTreeMap::new(),
                held: held.get(&label).map_or(0, Vec::len),
                is_leaving: false,
                is_closed: handle.is_closed(),
            },
        );
    }
    for handle in world.registry.partition_handles() {
        let (status, label) = (handle.status(), handle.label().to_owned());
        let tenants = world.partitions(&label);
        let capacity = |key: &str| {
            drop(tenants.key(key).try_slot());
            tenants.partition(key).map_or(0, |handle| handle.limits().capacity)
        };
        let keys = ["x", "y"].map(|key| (key.to_owned(), capacity(key))).into();
        let share = |key: &str| tenants.share(key).map_or((1, 0), |share| (share.weight, share.floor));
        let shares = ["x", "y"].map(|key| (key.to_owned(), share(key))).into();
        model.insert(
            label.clone(),
            Entry {
                is_partitions: true,
                limits: (status.each.capacity, 0),
                fixed: (false, Some(status.snapshot.limits.max_partitions)),
                keys,
                shared: status.shared.map(|shared| shared.capacity),
                shares,
                held: held.get(&label).map_or(0, Vec::len),
                is_leaving: false,
                is_closed: handle.status().is_closed,
            },
        );
    }
    model
}

/// Leaves out what cannot be seen from outside: whether holds are measured, which one is being
/// removed, and limits of keys where they are the common ones, or cannot be asked for any more.
fn visible(model: &Model) -> Model {
    let mut model = model.clone();
    for entry in model.values_mut() {
        (entry.fixed.0, entry.is_leaving) = (false, false);
        if entry.is_partitions {
            let common = entry.limits.0;
            for key in ["x", "y"] {
                entry.keys.entry(key.to_owned()).or_insert(common);
                entry.shares.entry(key.to_owned()).or_insert((1, 0));
            }
        }
        if entry.is_closed {
            entry.keys.clear();
        }
    }
    model
}

proptest! {
    #[test]
    fn a_configuration_is_applied_as_a_whole_or_changes_nothing(steps in vec(step(), 1..30)) {
        let world = World::new();
        let (mut model, mut held) = (Model::new(), BTreeMap::<String, Vec<OwnedSlot>>::new());
        for step in steps {
            match step {
                Step::Apply(config) => {
                    let answer = world.registry.apply(&config, &world.clock);
                    match applied(&model, &config) {
                        Some(after) => {
                            let applied = answer.expect("the model applies it");
                            prop_assert_eq!(applied.is_empty(), after == model);
                            model = after;
                        }
                        None => prop_assert!(answer.is_err(), "the model refuses {:?} after {:?}", config, model),
                    }
                }
                Step::Hold(label) => {
                    let label = LABELS[label];
                    let slot = match model.get(label) {
                        Some(entry) if entry.is_partitions => world.partitions(label).key("x").try_slot().ok(),
                        Some(_) => world.bulkhead(label).owned().try_slot().ok(),
                        None => None,
                    };
                    if let Some(slot) = slot {
                        held.entry(label.to_owned()).or_default().push(slot);
                        model.get_mut(label).expect("it is there").held += 1;
                    }
                }
                Step::Release => {
                    held.clear();
                    model.retain(|_, entry| !entry.is_leaving);
                    for entry in model.values_mut() {
                        entry.held = 0;
                    }
                }
                Step::Close(label) => {
                    if let Some(entry) = model.get_mut(LABELS[label]) {
                        entry.is_closed = true;
                        if entry.is_partitions {
                            world.partitions(LABELS[label]).close();
                        } else {
                            world.bulkhead(LABELS[label]).close();
                        }
                    }
                }
            }
            let mut found = seen(&world, &held);
            found.values_mut().filter(|entry| entry.is_closed).for_each(|entry| entry.keys.clear());
            prop_assert_eq!(found, visible(&model));
        }
    }
}
