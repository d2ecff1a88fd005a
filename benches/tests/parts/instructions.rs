//! How the counts of instructions are read.

use bulklink_benches::measure::instructions::{Counts, count, functions, is_ours, parse};
use bulklink_benches::scene::Scene;

fn summary(id: &str, metrics: &str) -> String {
    format!(r#"{{"id": "{id}", "profiles": [{{"data": {{"parts": [], "total": {{"metrics": {metrics}}}}}}}]}}"#)
}

#[test]
fn a_summary_names_its_scene_and_its_instructions() {
    let text = summary("scenes_12", r#"{"Ir": {"values": {"new": 96820}}, "Ge": {"values": {"new": 7000}}}"#);
    assert_eq!(parse(&text).unwrap(), (12, 96_820, 7_000));
}

#[test]
fn an_unexpected_summary_is_an_error_that_names_the_fault() {
    let ir = r#"{"Ir": {"values": {"new": 1}}}"#;
    for (text, error) in [
        (summary("other_1", ir), "id is `other_1`, not `scenes_` and a number"),
        (
            summary("scenes_1", r#"{"Ir": {"values": {"new": 0}}, "Ge": {"values": {"new": 0}}}"#),
            "nothing was counted: callgrind did not find the function to count in",
        ),
        (summary("scenes_1", r#"{"Ir": {"values": {"old": 1}}}"#), "the summary has no new Ir"),
        (summary("scenes_1", ir), "the summary has no new Ge"),
        ("{}".to_owned(), "the summary has no id"),
    ] {
        assert_eq!(parse(&text).unwrap_err().to_string(), error);
    }
}

#[test]
fn a_function_is_charged_with_its_own_instructions_and_found_by_a_word() {
    let out = "events: Ir Ge\nsummary: 9\n\nfn=bulklink::outputs::Outputs::take\n0 3000 7\ncfn=bulklink::b\ncalls=2 0 \n0 5000\n+1 1000\n\n\
               fn=bulklink::b\n0 5000\n\nfn=main\n0 7\n";
    let counts = functions(out);
    let expected = [("bulklink::b", 5_000), ("bulklink::outputs::Outputs::take", 4_000), ("main", 7)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)).into());
    let within = counts.into_iter().map(|(name, count)| (name, f64::from(u32::try_from(count).unwrap()))).collect();
    let counts = Counts { all: 9_000.0, locked: 7.0, within };
    assert_eq!((counts.within(&["outputs", "event"]), counts.within(&["event"])), (4_000.0, 0.0));
}

#[test]
fn functions_of_peers_and_of_the_benches_are_not_ours() {
    assert!(is_ours("<bulklink::acquire::slot::HeldGrant<S> as core::ops::drop::Drop>::drop"));
    assert!(
        !is_ours("tokio::sync::semaphore::Semaphore::acquire") && !is_ours("bulklink_benches::goals::observe::goal")
    );
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
