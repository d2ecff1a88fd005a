//! Instructions of one operation, by callgrind: counted in [`callgrind`], read back from what gungraun leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use walkdir::WalkDir;

use crate::goals;
use crate::scene::Scene;

/// So many that what surrounds them is a rounding error.
const OPERATIONS: usize = 1_000;

/// What gungraun calls the scenes, before their place in the list.
const ID: &str = "scenes_";

/// Performs a scene: once to warm up where that can be, and once to be counted.
pub fn count(scene: &Scene) {
    scene.perform(scene.operations(OPERATIONS), &mut |work| {
        work();
        callgrind(work);
    });
}

/// Callgrind counts from entering here to leaving: no set-up, no clean-up. It goes by the name.
#[inline(never)]
pub fn callgrind(work: &mut dyn FnMut()) {
    work();
}

/// Instructions an operation, by scene, from the summaries in the folder that gungraun was given.
///
/// # Errors
///
/// If a summary isn't what it should be.
#[allow(clippy::cast_precision_loss)]
pub fn read(home: &Path) -> Result<BTreeMap<String, f64>> {
    let scenes = goals::counted();
    let mut counts = BTreeMap::new();
    for entry in WalkDir::new(home) {
        let entry = entry?;
        if entry.file_name() == "summary.json" {
            let text = fs::read_to_string(entry.path())?;
            let (place, instructions) = parse(&text).with_context(|| format!("in {}", entry.path().display()))?;
            let scene = scenes.get(place).with_context(|| format!("there is no scene {place}"))?;
            counts.insert(scene.name.clone(), instructions as f64 / scene.operations(OPERATIONS) as f64);
        }
    }
    ensure!(!counts.is_empty(), "no summaries below {}", home.display());
    Ok(counts)
}

/// The scene's place in the list, and the instructions of all its operations.
fn parse(summary: &str) -> Result<(usize, u64)> {
    let summary: Value = serde_json::from_str(summary)?;
    let id = summary["id"].as_str().context("the summary has no id")?;
    let place = id.strip_prefix(ID).and_then(|place| place.parse().ok());
    let place = place.with_context(|| format!("id is `{id}`, not `{ID}` and a number"))?;
    let instructions = summary.pointer("/profiles/0/data/total/metrics/Ir/values/new").and_then(Value::as_u64);
    Ok((place, instructions.context("the summary has no new Ir")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(id: &str, metrics: &str) -> String {
        format!(r#"{{"id": "{id}", "profiles": [{{"data": {{"parts": [], "total": {{"metrics": {metrics}}}}}}}]}}"#)
    }

    #[test]
    fn a_summary_says_which_scene_and_how_many() {
        let text = summary("scenes_12", r#"{"Ir": {"values": {"new": 96820}}}"#);
        assert_eq!(parse(&text).unwrap(), (12, 96_820));
    }

    #[test]
    fn a_summary_of_another_kind_is_an_error_that_names_what_is_amiss() {
        let ir = r#"{"Ir": {"values": {"new": 1}}}"#;
        for (text, error) in [
            (summary("other_1", ir), "id is `other_1`, not `scenes_` and a number"),
            (summary("scenes_1", r#"{"Ir": {"values": {"old": 1}}}"#), "the summary has no new Ir"),
            ("{}".to_owned(), "the summary has no id"),
        ] {
            assert_eq!(parse(&text).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn a_scene_is_warmed_up_and_then_counted_once() {
        let scene = Scene::new("any", |_, meter| {
            let mut runs = 0;
            meter(&mut || runs += 1);
            assert_eq!(runs, 2);
        });
        count(&scene);
    }
}
