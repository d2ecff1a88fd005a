//! The scenes of the series.

use bulklink_benches::scene::Pace;
use bulklink_benches::series::ALL;

#[test]
fn every_contender_has_a_scene_at_every_value_that_can_be_performed() {
    for series in ALL {
        for x in series.xs.iter().copied().filter(|x| *x <= 10) {
            let mut performed = Vec::new();
            for (name, scene) in series.scenes(x) {
                assert!(matches!(scene.pace, Pace::Fixed(_)), "{name}");
                scene.perform(100, &mut |work| {
                    work();
                    performed.push(name);
                });
            }
            assert_eq!(performed, ["Bulklink", "tokio", "async-lock", "asyncband"], "{}", series.name);
        }
    }
}
