//! The events of requests that have failed, for subscribers of the crate `tracing`.

use std::error::Error;
#[cfg(feature = "tracing")]
use std::sync::LazyLock;

#[cfg(feature = "tracing")]
use bulklink::plumbing::log::{Account, is_on, limited};
#[cfg(feature = "tracing")]
use bulklink::plumbing::texts;
use http::StatusCode;

/// How much of the texts is logged, in bytes.
#[cfg(feature = "tracing")]
const LONGEST: usize = 1_000;

/// Logs the error of a request that is answered with this status, or with a body that breaks off.
#[cfg(feature = "tracing")]
pub(crate) fn failed(status: Option<StatusCode>, error: &(dyn Error + 'static)) {
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
            tracing::Level::WARN,
            status = status.map(|status| status.as_u16()),
            error = &*texts,
            left_out = left_out(),
            "request failed",
        );
    });
}

/// Without the feature `tracing`, nothing is logged.
#[cfg(not(feature = "tracing"))]
pub(crate) fn failed(_: Option<StatusCode>, _: &(dyn Error + 'static)) {}
