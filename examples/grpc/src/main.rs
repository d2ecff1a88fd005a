//! A tonic service with a bulkhead: `cargo run -p bulklink-examples-grpc`, and then
//!
//! ```text
//! grpcurl -plaintext -proto examples/grpc/proto/counter.proto -d '{"value": 5}' \
//!     127.0.0.1:50051 counter.Counter/Count
//! ```

use tokio::net::TcpListener;
use tokio::signal::ctrl_c;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls = grpc_counter::bulkhead()?;
    let listener = TcpListener::bind("127.0.0.1:50051").await?;
    println!("listening on {}", listener.local_addr()?);
    let server = tokio::spawn(grpc_counter::serve(listener, calls.clone()));
    ctrl_c().await?;
    println!("new calls are rejected; {} are running", calls.status().in_flight);
    calls.close();
    Ok(server.await??)
}
