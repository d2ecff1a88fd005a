//! The public paths of a library's items, and the types that have none.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::docs::{Docs, id};

/// Public paths, by where the items are defined.
#[derive(Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// The names that a crate has for its own items, and for those of others that it exports.
    pub(super) fn of(docs: &Docs) -> Self {
        let mut names = Names::default();
        let root = docs.root();
        let name = docs.package.replace('-', "_");
        names.add_module(docs, root, &name, &mut BTreeSet::from([root]));
        names
    }

    /// The public path of an item.
    pub(super) fn get(&self, definition: &str) -> Option<&str> {
        self.0.get(definition).map(String::as_str)
    }

    fn add_module(&mut self, docs: &Docs, module: u32, path: &str, seen: &mut BTreeSet<u32>) {
        let items = docs.item(module).and_then(|module| module["inner"]["module"]["items"].as_array());
        for (id, item) in items.into_iter().flatten().filter_map(id).filter_map(|id| Some((id, docs.item(id)?))) {
            let exported = &item["inner"]["use"];
            let name = exported["name"].as_str().or(item["name"].as_str()).unwrap_or_default();
            let target = self::id(&exported["id"]).unwrap_or(id);
            // All that another crate's module has is public there.
            let path = if exported["is_glob"] == true { path.to_owned() } else { format!("{path}::{name}") };
            self.add(docs, target, &path, seen);
        }
    }

    fn add(&mut self, docs: &Docs, id: u32, path: &str, seen: &mut BTreeSet<u32>) {
        if is_plumbing(path) {
            return;
        }
        if let Some(definition) = docs.definition(id) {
            self.0.entry(definition).or_insert_with(|| path.to_owned());
        }
        // A module may export one that is around it.
        if seen.insert(id) {
            self.add_module(docs, id, path, seen);
        }
    }
}

/// Whether a path, or the line of an item, has a part that is for other crates of Bulklink, and so
/// is no promise.
pub(super) fn is_plumbing(text: &str) -> bool {
    text.contains("::plumbing")
}

/// Returns a line for each type of ours that occurs in a public signature and has no public path.
///
/// A trait without one is sealed by that: users can neither implement it nor call it by name, so
/// neither it nor its implementations are checked.
pub(super) fn missing(docs: &Docs, names: &[&Names]) -> BTreeSet<String> {
    let is_named = |definition: &str| {
        let is_ours = definition.starts_with("bulklink") || definition.starts_with(&docs.package.replace('-', "_"));
        !is_ours || names.iter().any(|names| names.get(definition).is_some())
    };
    let mut missing = BTreeSet::new();
    for item in &docs.items {
        let text = item.to_string();
        let Some(inner) = docs.item(item.id().0).map(|item| &item["inner"]) else { continue };
        // The signatures of a trait's functions are those of the trait.
        let implementation = docs.implementation(item).or(inner.get("impl")).filter(|block| block["trait"].is_object());
        let is_sealed = implementation.is_some_and(|block| {
            let path = id(&block["trait"]["id"]).and_then(|id| docs.definition(id));
            // pin-project-lite implements it with types of its own.
            path.is_none_or(|path| !is_named(&path) || path == "core::marker::Unpin")
        });
        if is_plumbing(&text) || is_sealed || implementation.is_some() && inner["function"].is_object() {
            continue;
        }
        let mut types = BTreeMap::new();
        collect(inner, &mut types);
        // Fields without names have no lines of their own.
        let fields = ["struct", "variant"].map(|kind| inner[kind]["kind"]["tuple"].as_array());
        let fields = fields.into_iter().flatten().flatten().filter_map(|field| docs.item(id(field)?));
        fields.for_each(|field| collect(&field["inner"], &mut types));
        for (id, shown) in types {
            if !docs.definition(id).is_some_and(|definition| is_named(&definition)) {
                missing.insert(format!("{}: no name for `{shown}` in: {text}", docs.package));
            }
        }
    }
    missing
}

/// Collects the types in a signature: their ids, and their paths in the source.
fn collect<'a>(value: &'a Value, types: &mut BTreeMap<u32, &'a str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, types)),
        Value::Object(fields) => {
            if let Some(found) = fields.get("resolved_path") {
                types.extend(id(&found["id"]).zip(found["path"].as_str()));
            }
            fields.values().for_each(|value| collect(value, types));
        }
        _ => {}
    }
}
