//! The t-digest that failsafe-go uses: `influxdata/tdigest` 0.0.1.

use std::f64::consts::PI;

#[derive(Clone, Copy, Debug)]
struct Centroid {
    mean: f64,
    weight: f64,
}

/// A t-digest of compression 100.
///
/// The original's sort is not stable: with equal means, it may order unequal weights otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Digest {
    merged: Vec<Centroid>,
    /// How much is below the middle of each centroid, and all of it.
    below: Vec<f64>,
    added: Vec<Centroid>,
    range: Option<(f64, f64)>,
}

impl Digest {
    const COMPRESSION: f64 = 100.0;
    const MOST_MERGED: usize = 200;
    const MOST_ADDED: usize = 800;

    pub(super) fn clear(&mut self) {
        self.merged.clear();
        self.below.clear();
        self.added.clear();
        self.range = None;
    }

    pub(super) fn add(&mut self, mean: f64) {
        self.added.push(Centroid { mean, weight: 1.0 });
        if self.merged.len() > Self::MOST_MERGED || self.added.len() > Self::MOST_ADDED {
            self.merge();
        }
    }

    fn merge(&mut self) {
        if self.added.is_empty() && self.merged.len() <= Self::MOST_MERGED {
            return;
        }
        let mut all = std::mem::take(&mut self.added);
        all.append(&mut self.merged);
        all.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        let total: f64 = all.iter().map(|centroid| centroid.weight).sum();
        let mut rest = all.drain(..);
        let Some(mut last) = rest.next() else { return };
        let mut so_far = last.weight;
        let mut bound = total * Self::share(1.0);
        for centroid in rest {
            let next = so_far + centroid.weight;
            if next <= bound {
                last.weight += centroid.weight;
                last.mean += centroid.weight * (centroid.mean - last.mean) / last.weight;
            } else {
                bound = total * Self::share(Self::place(so_far / total) + 1.0);
                self.merged.push(last);
                last = centroid;
            }
            so_far = next;
        }
        self.merged.push(last);
        // Keeps its memory.
        self.added = all;
        let (low, high) = (self.merged[0].mean, last.mean);
        let (min, max) = self.range.unwrap_or((low, high));
        self.range = Some((min.min(low), max.max(high)));
        self.below.clear();
        let mut sum = 0.0;
        for centroid in &self.merged {
            self.below.push(sum + centroid.weight / 2.0);
            sum += centroid.weight;
        }
        self.below.push(sum);
    }

    /// The value below which a share of the added values is, or `None` without a value.
    pub(super) fn quantile(&mut self, share: f64) -> Option<f64> {
        self.merge();
        let (min, max) = self.range?;
        let (first, last) = (self.merged[0], self.merged[self.merged.len() - 1]);
        if self.merged.len() == 1 {
            return Some(first.mean);
        }
        let total = *self.below.last()?;
        let rank = share * total;
        if rank <= first.weight / 2.0 {
            return Some(min + 2.0 * rank / first.weight * (first.mean - min));
        }
        let place = self.below.partition_point(|below| *below < rank);
        if place + 1 < self.below.len() {
            let (after, before) = (rank - self.below[place - 1], self.below[place] - rank);
            let (left, right) = (self.merged[place - 1].mean, self.merged[place].mean);
            return Some(between(left, before, right, after));
        }
        // As the original weighs them.
        let after = rank - total - last.weight / 2.0;
        let before = last.weight / 2.0 - after;
        Some(between(last.mean, after, max, before))
    }

    /// The share of the values at a place from 0 to the compression.
    fn share(place: f64) -> f64 {
        let angle = place.min(Self::COMPRESSION) * PI / Self::COMPRESSION - PI / 2.0;
        f64::midpoint(libm::sin(angle), 1.0)
    }

    /// The place of a share of the values.
    fn place(share: f64) -> f64 {
        Self::COMPRESSION * (libm::asin(2.0 * share - 1.0) + PI / 2.0) / PI
    }
}

/// The mean of two values with weights, between the two.
fn between(a: f64, a_weight: f64, b: f64, b_weight: f64) -> f64 {
    let ((low, low_weight), (high, high_weight)) =
        if a <= b { ((a, a_weight), (b, b_weight)) } else { ((b, b_weight), (a, a_weight)) };
    let mean = (low * low_weight + high * high_weight) / (low_weight + high_weight);
    mean.min(high).max(low)
}
