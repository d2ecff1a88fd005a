//! The events of requests that have failed, for subscribers of the crate `tracing`.

use std::error::Error;
use std::sync::LazyLock;

use bulklink::plumbing::log::{Account, is_on, limited};
use bulklink::plumbing::texts;
use http::StatusCode;
use tracing::Level;

/// How much of the texts is logged, in bytes.
const LONGEST: usize = 1_000;

/// Logs the error that a request is answered for with this status.
pub(crate) fn failed(status: StatusCode, error: &(dyn Error + 'static)) {
    static FAILURES: LazyLock<Account> = LazyLock::new(Account::new);
    if !is_on() {
        return;
    }
    limited(&FAILURES, |left_out| {
        let mut texts = texts(error);
        if let Some(end) = (0..=LONGEST).rev().find(|&end| texts.len() > LONGEST && texts.is_char_boundary(end)) {
            texts.truncate(end);
            texts.push('…');
        }
        tracing::event!(
            name: "request.failed",
            target: "bulklink",
            Level::WARN,
            status = status.as_u16(),
            error = &*texts,
            left_out = left_out(),
            "request failed",
        );
    });
}
