//! Which events a gate keeps, in worlds that try some filters.

use bulklink_core::{EventFilter, EventKind};

/// Filters with which a word is published, and then others.
pub const FILTERS: [EventFilter; 8] = [
    EventFilter::NONE,
    EventFilter::REJECTIONS,
    EventFilter::WAITS,
    EventFilter::WAITS.or(EventFilter::REJECTIONS),
    EventFilter::CHANGES,
    EventFilter::of(EventKind::Admitted),
    EventFilter::of(EventKind::Released),
    EventFilter::ALL,
];

/// How many of these filters leave a word its admissions and releases.
pub const FILTERS_WITH_A_WORD: usize = 5;
