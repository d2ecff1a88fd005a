//! The buckets of a histogram: their edges, and the bucket of a duration.

/// The number of buckets: 35 in each decade from 1 µs to 1 h, and one at each end.
pub(crate) const BUCKETS: usize = 335;

/// The first edge, in nanoseconds.
const FIRST_EDGE: u64 = 1_000;
/// The last one that is finite.
const LAST_EDGE: u64 = 3_600_000_000_000;
const IN_A_DECADE: usize = 35;

/// The upper edge of each bucket, in nanoseconds. The edge itself belongs to the bucket: so the
/// number of durations up to an edge is exact.
static EDGES: [u64; BUCKETS] = {
    let mut edges = [u64::MAX; BUCKETS];
    let mut bucket = 0;
    while bucket < BUCKETS - 1 {
        edges[bucket] = finite_edge(bucket);
        bucket += 1;
    }
    assert!(edges[BUCKETS - 2] == LAST_EDGE);
    edges
};

/// The number of cells in an octave, as a power of two. A cell is so narrow, 3.1 %, that there is
/// at most one edge in it: the narrowest bucket, from 4.8 to 5, has 4.2 %.
const CELL_BITS: u32 = 5;
/// The octave of the first edge, and the one after the last edge.
const OCTAVES: (u64, u64) = (FIRST_EDGE.ilog2() as u64, LAST_EDGE.ilog2() as u64 + 1);
#[expect(clippy::cast_possible_truncation, reason = "33 octaves")]
const CELLS: usize = ((OCTAVES.1 - OCTAVES.0) << CELL_BITS) as usize;
/// The fraction of a float of 64 bits is shifted out, except for the cell in the octave.
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - CELL_BITS;
/// The code of the first cell: the exponent of a float, which has a bias, and no fraction.
const FIRST_CODE: u64 = (1_023 + OCTAVES.0) << CELL_BITS;

/// The bucket of the shortest duration in each cell.
static BUCKET_OF_CELL: [u16; CELLS] = {
    let mut buckets = [0; CELLS];
    let (mut cell, mut bucket) = (0, 0);
    while cell < CELLS {
        let octave = (cell as u64 >> CELL_BITS) + OCTAVES.0;
        let width = 1 << (octave - CELL_BITS as u64);
        let shortest = (1 << octave) + (cell as u64 & ((1 << CELL_BITS) - 1)) * width;
        while shortest > upper_edge(bucket as usize) {
            bucket += 1;
        }
        // At most one edge is below the longest duration.
        assert!(shortest + width - 1 <= upper_edge(bucket as usize + 1));
        buckets[cell] = bucket;
        cell += 1;
    }
    buckets
};

/// Returns the bucket of a duration.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "exact in the cells; beyond, the cell makes no difference")]
#[expect(clippy::cast_possible_wrap, reason = "then it is negative, and in no cell")]
pub(crate) fn bucket_of(nanos: u64) -> usize {
    // In no cell, and usual while little waits.
    if nanos < FIRST_EDGE {
        return 0;
    }
    // A float has the logarithm in its exponent, and is made by one instruction from a signed
    // integer.
    let code = (nanos as i64 as f64).to_bits() >> SHIFT;
    match BUCKET_OF_CELL.get(code.wrapping_sub(FIRST_CODE) as usize) {
        Some(&bucket) if usize::from(bucket) < BUCKETS => {
            usize::from(bucket) + usize::from(nanos > EDGES[usize::from(bucket)])
        }
        _ => BUCKETS - 1,
    }
}

/// Returns the upper edge of a bucket, in nanoseconds; `u64::MAX` for the last one.
pub(crate) const fn upper_edge(bucket: usize) -> u64 {
    if bucket < BUCKETS { EDGES[bucket] } else { u64::MAX }
}

/// Returns the upper edge of a bucket that is not the last.
const fn finite_edge(bucket: usize) -> u64 {
    let Some(above) = bucket.checked_sub(1) else { return FIRST_EDGE };
    let (mut decade, place) = (above / IN_A_DECADE, above as u64 % IN_A_DECADE as u64);
    // In tenths: [1, 2) in steps of 0.1, [2, 5) in steps of 0.2, [5, 10) in steps of 0.5.
    let tenths = match place {
        0..10 => 11 + place,
        10..25 => 22 + 2 * (place - 10),
        _ => 55 + 5 * (place - 25),
    };
    let mut edge = tenths * (FIRST_EDGE / 10);
    while decade > 0 {
        edge *= 10;
        decade -= 1;
    }
    edge
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each edge, and its neighbours.
    fn samples() -> impl Iterator<Item = u64> {
        let edges = EDGES[..BUCKETS - 1].iter().flat_map(|&edge| [edge - 1, edge, edge + 1]);
        let powers = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        edges.chain(powers).chain([u64::MAX])
    }

    #[test]
    fn a_duration_is_in_the_first_bucket_whose_edge_it_does_not_exceed() {
        let mut count = 0;
        let mut random = 1_u64;
        let random = core::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Of any order of magnitude.
            (random ^ random >> 33) >> (random >> 58)
        });
        for nanos in samples().chain(random.take(300_000)) {
            let expected = EDGES[..BUCKETS].partition_point(|&edge| edge < nanos);
            assert_eq!(bucket_of(nanos), expected, "{nanos} ns");
            count += usize::from((1..BUCKETS - 1).contains(&expected));
        }
        assert!(count > 100_000, "most of them are between the ends");
    }

    #[test]
    fn each_bucket_is_at_most_a_tenth_wide_and_1_2_and_5_are_edges() {
        for pair in EDGES[..BUCKETS - 1].windows(2) {
            let width = pair[1] - pair[0];
            assert!(width > 0 && width * 10 <= pair[0], "{pair:?}");
        }
        assert_eq!((EDGES[0], EDGES[BUCKETS - 2], EDGES[BUCKETS - 1]), (FIRST_EDGE, LAST_EDGE, u64::MAX));
        for decade in 0..10 {
            for edge in [1, 2, 5].map(|first: u64| first * FIRST_EDGE * 10_u64.pow(decade)) {
                assert!(edge > LAST_EDGE || EDGES.contains(&edge), "{edge} ns");
            }
        }
    }
}
