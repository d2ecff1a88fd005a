//! The parts of the document, and the definitions in it.

use bulklink_overload::describe::describe;
use bulklink_overload::document::{digest, refresh, same};
use bulklink_overload::plants::{PUBLISHED, SETS};

#[test]
fn a_part_is_replaced_between_its_markers_and_only_there() {
    let document = "a\n<!-- b begin -->\nold\n<!-- b end -->\nc\n";
    let new = refresh(document, "b", "\nnew\n").unwrap();
    assert_eq!(new, "a\n<!-- b begin -->\n\nnew\n\n<!-- b end -->\nc\n");
    assert_eq!(refresh(&new, "b", "new").unwrap(), new);
    for broken in ["", "<!-- b begin -->", "<!-- b end --><!-- b begin -->"] {
        assert!(refresh(broken, "b", "new").unwrap_err().to_string().contains("<!-- b "));
    }
}

#[test]
fn a_document_that_differs_is_shown_by_its_first_line_that_does() {
    assert!(same("a\nb\n", "a\nb\n").is_ok());
    let error = |old, new| same(old, new).unwrap_err().to_string();
    assert_eq!(error("a\nb\nc\n", "a\nB\nC\n"), "the document differs in line 2:\n- b\n+ B");
    assert_eq!(error("a\n", "a\nb\n"), "the document differs in line 2:\n- (its end)\n+ b");
    assert!(same("a\n", "a").is_err());
}

#[test]
fn digests_differ_by_each_byte_and_by_the_ends_of_lines() {
    assert_eq!(digest([]), 0xCBF2_9CE4_8422_2325);
    assert_ne!(digest(["a", "b"]), digest(["ab"]));
    assert_ne!(digest(["a"]), digest(["b"]));
}

#[test]
fn plants_have_a_name_of_their_own_and_a_definition_in_one_line() {
    let plants: Vec<_> = SETS.iter().flat_map(|set| (set.plants)()).collect();
    for plant in &plants {
        let same = plants.iter().filter(|other| other.short_name() == plant.short_name()).count();
        assert_eq!(same, 1, "{}", plant.name);
        assert_eq!(describe(plant).lines().count(), 1);
    }
    let find = |name| plants.iter().find(|plant| plant.short_name() == name).unwrap();
    assert_eq!(
        describe(find("g")),
        "32 workers, 10 ms exponential; 1650/s, 720/s from 60 s; 10 %, 30 % from 60 s of the \
         calls take 20 times as long; deadline 500 ms, wait limit 100 ms, room 64; measured from 20 s to 120 s"
    );
    for (name, size) in [("Y10", "tokens a second times 1, 0.5 from 60 s"), ("Y11", "calls times 1, 0.6 from 50 s")] {
        assert!(describe(find(name)).contains(size), "{}", describe(find(name)));
    }
    assert_eq!(SETS.map(|set| (set.plants)().len()), [32, 11, 12, 8, 12, 12]);
    assert!(PUBLISHED.iter().all(|name| SETS.iter().any(|set| set.name == *name)));
}

#[test]
fn phases_of_a_plant_and_values_of_a_schedule_are_in_the_order_of_their_times() {
    for plant in SETS.iter().flat_map(|set| (set.plants)()) {
        let phases: Vec<f64> = plant.backend.phases.iter().map(|phase| phase.from).collect();
        let times = |schedule: &[(f64, f64)]| schedule.iter().map(|(from, _)| *from).collect::<Vec<_>>();
        for times in [phases, times(&plant.load), times(&plant.mix.shares)] {
            assert!(times.is_sorted(), "{}: {times:?}", plant.name);
        }
    }
}
