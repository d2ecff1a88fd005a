//! The figures of one load.

use std::time::Duration;

use bulklink_benches::overload::load::{Fate, Sent};
use bulklink_benches::overload::scene::GREEDY;
use bulklink_benches::overload::tally::{Figures, Used, Window, figures, percentile, used};
use bulklink_benches::overload::upstream::{Begun, WORKERS, Work};
use tokio::time::Instant;

#[test]
fn only_what_happens_in_the_window_counts() {
    let start = Instant::now();
    let at = |millis| start + Duration::from_millis(millis);
    let sent = |due, fate| Sent { due: at(due), tenant: 0, fate };
    let sent = [
        sent(900, Fate::Answered(at(990))),
        sent(950, Fate::Answered(at(1_010))),
        sent(1_100, Fate::Answered(at(1_140))),
        sent(1_200, Fate::Rejected),
        sent(1_300, Fate::GivenUp),
        sent(2_900, Fate::GivenUp),
    ];
    let begun = [(0, 950), (1, 1_000), (2, 1_100), (4, 1_310), (5, 3_100)];
    let begun = begun.map(|(call, time)| Begun { call, at: at(time) });
    let expected = Figures {
        in_time: 1.0,
        p50: Some(Duration::from_millis(40)),
        p99: Some(Duration::from_millis(60)),
        rejected: 0.25,
        given_up: 0.5,
        wasted: 1.0 / 3.0,
    };
    assert_eq!(figures(&sent, &begun, Window { begin: at(1_000), end: at(3_000) }, 0..=0), expected);
    assert_eq!(expected.answered(), 0.25);
}

#[test]
fn only_these_tenants_count() {
    let start = Instant::now();
    let sent = |tenant, fate| Sent { due: start, tenant, fate };
    let answered = Fate::Answered(start + Duration::from_millis(30));
    let sent = [sent(1, answered), sent(2, answered), sent(3, Fate::GivenUp), sent(3, Fate::Rejected)];
    let begun: Vec<_> = (0..3).map(|call| Begun { call, at: start }).collect();
    let window = Window { begin: start, end: start + Duration::from_secs(1) };
    let of = |tenants| figures(&sent, &begun, window, tenants);
    let (served, unserved) = (of(1..=2), of(3..=3));
    assert_eq!((served.in_time, served.answered(), served.wasted), (2.0, 1.0, 0.0));
    assert_eq!((unserved.in_time, unserved.rejected, unserved.given_up, unserved.wasted), (0.0, 0.5, 0.5, 1.0));
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let millis = |number| Duration::from_millis(number);
    let hundred: Vec<_> = (1..=100).map(millis).collect();
    assert_eq!((percentile(&hundred, 50), percentile(&hundred, 99)), (Some(millis(50)), Some(millis(99))));
    assert_eq!((percentile(&hundred[..1], 99), percentile(&[], 99)), (Some(millis(1)), None));
}

#[test]
fn the_time_of_the_workers_in_the_window_is_divided_by_what_it_was_for() {
    let start = Instant::now();
    let at = |millis| start + Duration::from_millis(millis);
    let sent = |tenant, fate| Sent { due: start, tenant, fate };
    let answered = Fate::Answered(at(900));
    let sent = [sent(0, answered), sent(GREEDY, answered), sent(1, Fate::GivenUp), sent(GREEDY, Fate::Rejected)];
    let works = [(0, 0, 1_500), (1, 1_250, 1_500), (2, 1_500, 2_500), (3, 2_000, 9_000), (0, 0, 500)];
    let works = works.map(|(call, begin, end)| Work { call, begin: at(begin), end: at(end) });
    let workers = f64::from(u32::try_from(WORKERS).unwrap());
    let expected = Used { within: 0.5 / workers, beyond: 0.25 / workers, in_vain: 0.5 / workers };
    assert_eq!(used(&sent, &works, Window { begin: at(1_000), end: at(2_000) }), expected);
    assert_eq!(expected.in_time(), 0.75 / workers);
}
