//! Starts a model and the gateway to it: `cargo run -p bulklink-examples-gateway`, and then
//!
//! ```text
//! curl -N -H 'x-tenant: ann' http://127.0.0.1:8080/v1/messages \
//!     -d '{"prompt": "20", "max_tokens": 40}'
//! curl http://127.0.0.1:8080/metrics
//! ```

use std::num::NonZeroU32;
use std::time::Duration;

use bulklink_tokio::partitions::{Class, Share};
use bulklink_tokio::{Bulkhead, Partitions};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", model.local_addr()?);
    tokio::spawn(async { axum::serve(model, model_gateway::upstream::upstream(Duration::from_millis(200))).await });

    let wait = Duration::from_secs(10);
    let model_requests = Bulkhead::builder("model").parallelism(200).waiting_room(20).wait_limit(wait).build()?;
    let tenants = Partitions::builder("tenants").max_partitions(10_000).shared_capacity(10_000);
    // Batches leave 2,000 to users, and are served once for every ten of their requests.
    let tenants = tenants.class_headroom(Class::Background, 2_000).class_relief(10);
    let tenants = tenants.shared_waiting_room(500).capacity(8_000).waiting_room(50).wait_limit(wait).build()?;
    // Ann pays for more: four times the share of another, and 2,000 tokens before all others.
    tenants.set_share("ann", Share::new().weight(4).floor(2_000))?;
    let per_minute = NonZeroU32::new(100_000).ok_or("zero")?;
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, model_gateway::gateway(&url, &model_requests, &tenants, per_minute)?).await?)
}
