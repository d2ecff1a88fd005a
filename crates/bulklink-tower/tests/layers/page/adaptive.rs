//! The rows of bulkheads and partitions that have an adaptive limit.

use bulklink_tokio::limit::{Limit, Mode, Sample, State, Step};
use bulklink_tokio::{Bulkhead, Partitions, Registry};
use bulklink_tower::page;

use super::{json, text};

/// Goes up by one with each call, and is beyond its bounds after 5.
#[derive(Clone)]
struct Rising(usize, Step);

impl Limit for Rising {
    fn sample(&mut self, _: &Sample) {
        (self.0, self.1) = (self.0 + 1, Step::MoreHelps);
    }

    fn limit(&self) -> usize {
        self.0
    }

    fn bounds(&self) -> (usize, usize) {
        (2, 5)
    }

    fn state(&self) -> State {
        let mut state = State::of(self.0);
        state.step = self.1;
        if self.1 == Step::MoreHelps {
            (state.slope, state.inflation, state.useful, state.windows) = (0.754, 1.5, 2.55, 1);
        }
        state
    }
}

fn rising() -> Rising {
    Rising(4, Step::Set)
}

#[tokio::test(start_paused = true)]
async fn a_row_has_the_limit_its_mode_and_the_reason_in_words() {
    let registry = Registry::new();
    let search = registry.create(Bulkhead::builder("search").parallelism(8).adaptive(rising())).unwrap();
    let app = page::router(&registry);
    let line = |shown: &str| shown.lines().find(|line| line.contains("adaptive  ")).map(str::to_owned);
    let before = "  adaptive    4 within 2 to 5, active: has not learnt anything yet; moved up 0, down 0 times";
    assert_eq!(line(&text(&app, "").await).as_deref(), Some(before));
    drop(search.try_slot().unwrap());
    let expected = "  adaptive    5 within 2 to 5, active: more slots give more work; inflation 1.50, slope 0.75, 2.5 useful; \
        moved up 1, down 0 times";
    assert_eq!(line(&text(&app, "").await).as_deref(), Some(expected));
    search.handle().set_limit_mode(Mode::Frozen);
    assert!(text(&app, "").await.contains("2 to 5, frozen: more slots"));
    let row = &json(&app, "").await["bulkheads"][0];
    let expected = json!({
        "limit": 5, "least": 2, "most": 5, "mode": "frozen", "has_failed": false, "step": "more_helps",
        "slope": 0.754, "inflation": 1.5, "useful": 2.55, "baseline_seconds": 0.0, "edge": null,
        "windows": 1, "changes": 0, "unpaid_falls": 0, "stalls": 0, "raised": 1, "lowered": 0,
    });
    assert_eq!(row["adaptive"], expected);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_has_failed_is_a_warning_in_a_row_and_in_that_of_partitions() {
    let registry = Registry::new();
    let search = registry.create(Bulkhead::builder("search").parallelism(8).adaptive(rising())).unwrap();
    let tenants = Partitions::builder("tenants").parallelism(8).max_partitions(9).adaptive(rising());
    let tenants: Partitions<u32> = registry.create_partitions(tenants).unwrap();
    let app = page::router(&registry);
    let _running = [1, 2].map(|key| tenants.key(&key).try_slot().unwrap());
    for _ in 0..2 {
        drop(search.try_slot().unwrap());
        drop(tenants.key(&1).try_slot().unwrap());
    }
    let shown = text(&app, "").await;
    assert!(shown.contains("search: warning\n"), "{shown}");
    assert!(shown.contains("\n  adaptive    5 within 2 to 5, failed; inflation 1.50"), "{shown}");
    let message =
        "  warning     adaptive_limit_failed: the adaptive limit panicked or left its bounds, and stays at 5\n";
    assert!(shown.contains(message), "{shown}");
    assert!(
        shown.contains("tenants: warning\n") && shown.contains("\n  adaptive    9 together, 1 failed\n"),
        "{shown}"
    );
    assert!(shown.contains("adaptive_limit_failed: adaptive limit failed in 1 of 2 partitions\n"), "{shown}");
    let page = json(&app, "").await;
    let rows = page["bulkheads"].as_array().unwrap();
    let of = |label: &str| &rows.iter().find(|row| row["label"] == label).unwrap()["adaptive"];
    assert_eq!((&of("search")["has_failed"], of("tenants")), (&json!(true), &json!({ "limit": 9, "failed": 1 })));
}
