//! What circuits write to the log.

#[path = "../bulkheads/log.rs"]
mod lines;

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
