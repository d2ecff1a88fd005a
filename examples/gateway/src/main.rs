//! Starts a model and the gateway to it: `cargo run -p bulklink-examples-gateway`, and then
//!
//! ```text
//! curl -N -H 'x-tenant: ann' http://127.0.0.1:8080/v1/messages \
//!     -d '{"prompt": "20", "max_tokens": 40}'
//! curl http://127.0.0.1:8080/metrics
//! ```

use std::num::NonZeroU32;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Partitions};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", model.local_addr()?);
    tokio::spawn(async { axum::serve(model, model_gateway::upstream::upstream(Duration::from_millis(200))).await });

    let wait = Duration::from_secs(10);
    let tokens = Bulkhead::builder("tokens").capacity(10_000).waiting_room(500).waiting_room_units(20_000);
    let tenants = Partitions::builder("tenants").max_partitions(10_000).capacity(4_000).waiting_room(50);
    let (tokens, tenants) = (tokens.wait_limit(wait).build()?, tenants.wait_limit(wait).build()?);
    let per_minute = NonZeroU32::new(100_000).ok_or("zero")?;
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, model_gateway::gateway(&url, &tokens, &tenants, per_minute)?).await?)
}
