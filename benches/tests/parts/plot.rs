//! The plots of goodput.

use std::collections::BTreeSet;
use std::{env, fs, process};

use bulklink_benches::overload::adaptive;
use bulklink_benches::overload::adaptive::front::Guard;
use bulklink_benches::overload::plot::{draw, draw_adaptive, draw_tenants};
use bulklink_benches::overload::scene::Scene;
use bulklink_benches::overload::tally::{Figures, Used};
use bulklink_benches::overload::{Outcome, upstream};

use crate::overload::outcome;

/// Returns the plots of all scenes where every protection has the same figures.
fn plots(name: &str) -> [String; 3] {
    let all = Scene::of_all()
        .chain([Scene::Tenants])
        .flat_map(|scene| scene.protections().map(|protection| (protection, scene)));
    let outcomes: Vec<_> =
        all.map(|(protection, scene)| alike(outcome(protection, scene, upstream::CAPACITY))).collect();
    let folder = env::temp_dir().join(format!("bulklink-{name}-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    draw(&outcomes, &folder).unwrap();
    draw_tenants(&outcomes, &folder).unwrap();
    let texts =
        ["overload", "bursts", "tenants"].map(|name| fs::read_to_string(folder.join(name).with_extension("svg")));
    fs::remove_dir_all(folder).unwrap();
    texts.map(Result::unwrap)
}

fn alike(mut outcome: Outcome) -> Outcome {
    outcome.figures.p50 = outcome.figures.p99.map(|p99| p99 / 3);
    outcome.used = Used { within: 0.25, beyond: 0.5, in_vain: 0.125 };
    outcome.greedy = (outcome.scene == Scene::Tenants).then_some(Figures { rejected: 0.5, ..outcome.figures });
    outcome
}

/// Returns the places of all marks of this kind, each once.
fn places<'a>(plot: &'a str, kind: &str) -> BTreeSet<&'a str> {
    plot.lines().filter(|line| line.starts_with(kind)).collect()
}

#[test]
fn protections_with_the_same_figures_do_not_hide_each_other() {
    let [overload, bursts, tenants] = plots("places");
    // Five loads and four figures, each as a point with a border.
    assert_eq!(places(&overload, "<circle").len(), 6 * 5 * 4 * 2);
    // The points of p50 and p99.
    assert_eq!(places(&bursts, "<circle").len(), 6 * 2 * 2);
    assert_eq!(places(&tenants, "<circle").len(), 2 * 6 * 2 * 2);
}

#[test]
fn a_plot_names_its_axes_and_protections() {
    let [overload, bursts, tenants] = plots("names");
    let assert_named = |plot: &str, scene: Scene, texts: &[&str]| {
        let names = scene.protections().map(|protection| protection.name().replace('\'', "&apos;"));
        for text in texts.iter().copied().chain(names.iter().map(String::as_str)) {
            assert!(plot.lines().any(|line| line == text), "{text}");
        }
    };
    let axes = ["answers in time (1/s)", "● p50 and ○ p99 (ms)", "wasted work (%)", "0.5 ×", "10 ×"];
    assert_named(&overload, Scene::Load(1.0), &axes);
    let words = ["rejected", "given up", "● p50 and ○ p99 of the answers", "100 %", "50 to 150 ms"];
    assert_named(&bursts, Scene::Bursts, &words);
    assert_named(&tenants, Scene::Tenants, &words);
    assert_named(&tenants, Scene::Tenants, &["for the nine", "the tenth", "in vain", "75 % in time"]);
}

#[test]
fn the_course_of_each_limit_is_drawn_and_named() {
    let scene = adaptive::scene::Scene::Capacity;
    let guards = Guard::all(scene);
    let outcomes = guards.map(|guard| crate::adaptive::outcome(guard, scene, 500.0));
    let folder = env::temp_dir().join(format!("bulklink-course-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    draw_adaptive(&outcomes, &folder).unwrap();
    let plot = fs::read_to_string(folder.join("adaptive.svg")).unwrap();
    fs::remove_dir_all(folder).unwrap();
    // For the workers and the capacity, and for the limit and the answers.
    let lines = |width| places(&plot, "<polyline").into_iter().filter(|line| line.contains(width)).count();
    assert_eq!((lines("stroke-width=\"4\""), lines("stroke-width=\"2\"")), (8 * 2, 8 * 2));
    let names = guards.map(|guard| guard.to_string().replace('\'', "&apos;"));
    for text in names.iter().map(String::as_str).chain(["limit", "answers in time (1/s)", "seconds", "256"]) {
        assert!(plot.lines().any(|line| line == text), "{text}");
    }
}
