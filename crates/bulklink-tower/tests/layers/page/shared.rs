//! The rows of partitions that share a capacity.

use bulklink_tokio::{Partitions, Registry};
use bulklink_tower::page;
use futures_util::FutureExt;
use serde_json::json;

use super::{json as json_of, text};

#[tokio::test(start_paused = true)]
async fn a_row_has_the_shared_capacity_and_its_room() {
    let registry = Registry::new();
    let builder = Partitions::builder("models").shared_capacity(2).shared_waiting_room(1).max_partitions(9);
    let models: Partitions<String> = registry.create_partitions(builder).unwrap();
    let _running = [(); 2].map(|()| models.key("loud").try_slot().unwrap());
    let mut loud = Box::pin(models.key("loud").slot());
    assert!((&mut loud).now_or_never().is_none());
    let app = page::router(&registry);
    let shown = text(&app, "").await;
    for line in [
        "\n  in use      2 of 2 shared, 2 running",
        "\n  waiting     1 of 1 shared",
        "\n  warning     shared_capacity_full: all 2 units that the keys share in use, 1 waiting",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let row = &json_of(&app, "").await["bulkheads"][0];
    let shared = json!({ "capacity": 2, "in_use": 2, "peak_in_use": 2, "waiting_room": 1, "waiting": 1 });
    assert_eq!((&row["shared"], &row["totals"]["displaced"]), (&shared, &json!(0)));
}
