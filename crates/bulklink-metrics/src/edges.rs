//! The buckets of the exported histograms.

use std::time::Duration;

use bulklink::Histogram;

/// The upper edges: 1, 2 and 5 of each decade from 10 µs to 100 s, where the histograms of a
/// bulkhead count exactly. Each with its text, which is the same in every output, so that a series
/// does not depend on it.
pub(crate) const EDGES: [(Duration, &str); 22] = [
    (Duration::from_micros(10), "1e-05"),
    (Duration::from_micros(20), "2e-05"),
    (Duration::from_micros(50), "5e-05"),
    (Duration::from_micros(100), "0.0001"),
    (Duration::from_micros(200), "0.0002"),
    (Duration::from_micros(500), "0.0005"),
    (Duration::from_millis(1), "0.001"),
    (Duration::from_millis(2), "0.002"),
    (Duration::from_millis(5), "0.005"),
    (Duration::from_millis(10), "0.01"),
    (Duration::from_millis(20), "0.02"),
    (Duration::from_millis(50), "0.05"),
    (Duration::from_millis(100), "0.1"),
    (Duration::from_millis(200), "0.2"),
    (Duration::from_millis(500), "0.5"),
    (Duration::from_secs(1), "1.0"),
    (Duration::from_secs(2), "2.0"),
    (Duration::from_secs(5), "5.0"),
    (Duration::from_secs(10), "10.0"),
    (Duration::from_secs(20), "20.0"),
    (Duration::from_secs(50), "50.0"),
    (Duration::from_secs(100), "100.0"),
];

/// The text of the last edge, below which all durations are.
pub(crate) const INFINITE: &str = "+Inf";

/// Returns how many durations are at most as long as each edge, and how many there are, in one
/// pass.
pub(crate) fn count(histogram: &Histogram) -> ([u64; EDGES.len()], u64) {
    let (mut up_to, mut total, mut place) = ([0; EDGES.len()], 0, 0);
    for (upper, count) in histogram.buckets() {
        while place < EDGES.len() && upper > EDGES[place].0 {
            up_to[place] = total;
            place += 1;
        }
        total += count;
    }
    (up_to, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_counts_what_the_histogram_counts_for_each_edge() {
        let mut histogram = Histogram::new();
        for (number, (edge, _)) in EDGES.iter().enumerate() {
            for _ in 0..=number {
                histogram.record(*edge);
                histogram.record(*edge + Duration::from_nanos(1));
            }
        }
        histogram.record(Duration::ZERO);
        histogram.record(Duration::MAX);
        let (up_to, total) = count(&histogram);
        assert_eq!(up_to, EDGES.map(|(edge, _)| histogram.count_up_to(edge)));
        assert_eq!((up_to[0], total), (2, histogram.count()));
    }

    #[test]
    fn the_edges_ascend_and_their_texts_say_what_they_are() {
        assert!(EDGES.is_sorted_by(|one, next| one.0 < next.0));
        for (edge, text) in EDGES {
            let seconds: f64 = text.parse().unwrap();
            assert!((seconds - edge.as_secs_f64()).abs() < 1e-12, "{text}");
        }
    }
}
