//! What circuits write to the log.

#[path = "../bulkheads/log.rs"]
mod lines;

use crate::BAD;
use crate::scene::Scene;

#[test]
fn an_outage_is_one_line_and_its_end_another() {
    let lines = lines::of(|| {
        let mut scene = Scene::new();
        let process = scene.process();
        scene.advance(1_000);
        scene.store.stop();
        scene.advance(60_000);
        assert!(!process.is_connected());
        scene.store.start();
        scene.advance(10_000);
        assert!(process.is_connected());
    });
    let lines = lines.iter().filter(|line| line.contains("bulklink_fleet")).collect::<Vec<_>>();
    let [lost, back] = lines[..] else { panic!("{lines:?}") };
    assert!(lost.contains(" WARN ") && lost.contains("the store of circuits is out of reach"), "{lost}");
    assert!(lost.contains("namespace=test process=") && lost.ends_with("error=\"the store is unreachable\""), "{lost}");
    assert!(back.contains(" INFO ") && back.contains("the store of circuits answers again"), "{back}");
}

#[test]
fn the_cause_of_a_transition_that_another_process_has_made_is_the_store() {
    let lines = lines::of(|| {
        let mut scene = Scene::new();
        let (_one, two) = (scene.process(), scene.process());
        scene.call(&two, &[BAD; 3]);
        scene.advance(1_000);
        two.breaker.force_open();
        scene.advance(1_000);
        two.breaker.force_closed();
        scene.advance(1_000);
    });
    let fields: Vec<_> = lines.iter().filter_map(|line| Some(line.split_once("from=")?.1)).collect();
    let expected = [
        r#""closed" to="open" cause="failures" calls=3 failures=3 slow=0 left_out=0"#,
        r#""closed" to="open" cause="store" left_out=0"#,
        r#""open" to="open" cause="by_hand" left_out=0"#,
        r#""open" to="open" cause="by_hand" left_out=0"#,
        r#""open" to="closed" cause="by_hand" left_out=0"#,
        // A row has a mark for an opening by hand only.
        r#""open" to="closed" cause="store" left_out=0"#,
    ];
    assert_eq!(fields, expected);
}
