//! The folder of the readings.

use std::fs;

use bulklink_benches::report::readings::Readings;

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("bulklink-readings-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn sources_are_read_and_a_missing_source_says_why() {
    let folder = folder("there");
    fs::write(folder.join("memory.json"), r#"{"slot": 16}"#).unwrap();
    fs::write(folder.join("python.missing"), "no pip\n").unwrap();
    let readings = Readings::load(&folder).unwrap();
    assert_eq!(readings.memory.unwrap()["slot"], 16.0);
    assert_eq!(readings.python.unwrap_err(), "no pip");
    assert_eq!(readings.time.unwrap_err(), "no program read it in this run");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_times_of_all_runs_are_in_one_list() {
    let folder = folder("runs");
    fs::create_dir(folder.join("time")).unwrap();
    for (run, ratio) in [("1.json", 0.5), ("2.json", 0.75)] {
        let text = format!(r#"[{{"ours": "a", "peer": "b", "ours_ns": 1, "peer_ns": 2, "ratio": {ratio}}}]"#);
        fs::write(folder.join("time").join(run), text).unwrap();
    }
    let mut ratios: Vec<_> = Readings::load(&folder).unwrap().time.unwrap().iter().map(|pair| pair.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    assert_eq!(ratios, [0.5, 0.75]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_broken_file_is_an_error_that_names_it() {
    let folder = folder("broken");
    fs::create_dir(folder.join("time")).unwrap();
    fs::write(folder.join("time/2.json"), "{}").unwrap();
    let error = Readings::load(&folder).unwrap_err().to_string();
    assert!(error.ends_with("2.json is not as expected"), "{error}");
    fs::remove_dir_all(folder).unwrap();
}
