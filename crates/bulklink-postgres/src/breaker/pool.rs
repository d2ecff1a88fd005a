//! How a statement runs on a session of a pool.

use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::session::{TYPES, is_last};
use crate::failure::Failure;

/// Runs the statement of an operation.
pub(super) async fn run(
    pool: &Pool,
    text: &str,
    values: &[&(dyn ToSql + Sync)],
    time: Duration,
) -> Result<Vec<Row>, Failure> {
    let deadline = Instant::now() + time;
    let got = timeout_at(deadline, pool.get()).await.map_err(|_| Failure::TimedOut)?;
    let session = got.map_err(|error| match error {
        PoolError::Timeout(_) => Failure::TimedOut,
        PoolError::Backend(error) => Failure::of_connection(&error),
        _ => Failure::Lost,
    })?;
    let run = async {
        let statement = session.prepare_typed_cached(text, &TYPES).await?;
        session.query(&statement, values).await
    };
    let rows = timeout_at(deadline, run).await;
    let rows = rows.map_err(|_| Failure::TimedOut).and_then(|rows| rows.map_err(|error| Failure::of(&error)));
    if rows.as_ref().is_err_and(is_last) {
        // It must not go back to the pool.
        drop(Object::take(session));
    }
    rows
}
