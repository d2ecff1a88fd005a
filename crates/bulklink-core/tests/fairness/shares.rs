//! Keys that ask for all there is, against the shares that water filling gives.

use crate::plant::Source;
use crate::{limits, run_plain, usual_or_long};

/// Clients enough to use every slot of any pool here.
const ALL: usize = 40;
const ANY: u32 = 1_000_000;
const SEED: u64 = 7;

#[test]
fn keys_with_weights_get_slots_in_proportion_to_them() {
    let sources = [1, 2, 3, 4].map(|weight| Source::closed(ALL).weight(weight));
    // With fewer slots than weights the part of a key is a matter of chance, and 200,000 operations
    // are so many that its standard deviation is below 0.7 %.
    let plants = [(1, 2_000.0, 0.02), (2, 1_000.0, 0.02), (4, 500.0, 0.02), (10, 300.0, 0.001), (20, 300.0, 0.001)];
    for (slots, seconds, most) in plants {
        let ideal = fill(f64::from(slots), &[f64::INFINITY; 4], &[1.0, 2.0, 3.0, 4.0]);
        hold_shares(
            &format!("weights 1 to 4 on {slots}"),
            slots,
            &sources,
            usual_or_long(seconds, 10.0 * seconds),
            &ideal,
            most,
        );
    }
}

#[test]
fn few_clients_get_as_much_as_many() {
    let sources = [Source::closed(2), Source::closed(80)];
    hold_shares("2 clients beside 80", 1, &sources, usual_or_long(300.0, 3_000.0), &[0.5, 0.5], 0.02);
}

/// A client that comes back has to wait where another key was given its slot, so those with few
/// clients get a bit less than they could use.
#[test]
fn what_a_key_does_not_use_goes_to_the_others() {
    let clients = [1, 1, 2, 4, 8, 16];
    let sources = clients.map(Source::closed);
    let ideal = fill(12.0, &clients.map(|clients| f64::from(u32::try_from(clients).expect("few"))), &[1.0; 6]);
    hold_shares("1 to 16 clients on 12", 12, &sources, usual_or_long(100.0, 3_000.0), &ideal, 0.1);
}

/// Levels are whole turns, so with more keys than slots an operation that holds longer gets more.
#[test]
fn with_more_keys_than_slots_none_gets_more_than_a_slot() {
    let mut sources = vec![Source::closed(5); 30];
    sources[0].hold *= 10.0;
    let running = run_plain(&limits(10, ANY), &sources, usual_or_long(300.0, 3_000.0), None, SEED).running();
    let others = running[1..].iter().sum::<f64>() / 29.0;
    println!("30 keys on 10: {:.3} with ten times the hold, and the others {others:.3}", running[0]);
    assert!((0.9..1.0).contains(&running[0]) && others > 0.305, "{running:?}");
    assert!(running[1..].iter().all(|one| (one / others - 1.0).abs() < 0.06), "{running:?}");
}

#[test]
fn a_wide_key_gets_about_its_share() {
    let mut sources = vec![Source::closed(ALL); 5];
    sources[0] = Source::closed(2).costs(5);
    let mut units = run_plain(&limits(10, ANY), &sources, usual_or_long(100.0, 3_000.0), None, SEED).running();
    units[0] *= 5.0;
    let busy = units.iter().sum::<f64>() / 10.0;
    println!("cost of 5 beside four of 1: {units:.3?}, busy {busy:.3}");
    assert!((1.8..2.6).contains(&units[0]), "{units:?}");
    assert!(units[1..].iter().all(|units| *units > 1.65), "{units:?}");
    assert!(busy > 0.92, "{busy}");
}

/// Every key gets its ideal share, but for the largest relative error.
fn hold_shares(name: &str, slots: u32, sources: &[Source], seconds: f64, ideal: &[f64], most: f64) {
    let running = run_plain(&limits(slots, ANY), sources, seconds, None, SEED).running();
    let error = running.iter().zip(ideal).map(|(running, ideal)| (running / ideal - 1.0).abs()).fold(0.0, f64::max);
    println!("{name}: {running:.4?}, error {:.3} %", 100.0 * error);
    assert!(error <= most, "{name}: {running:?}, {ideal:?}");
}

/// Fills all keys up to the same level by weight, or to what they ask for.
fn fill(capacity: f64, asked: &[f64], weights: &[f64]) -> Vec<f64> {
    let given = |level: f64| asked.iter().zip(weights).map(move |(asked, weight)| asked.min(level * weight));
    let (mut low, mut high) = (0.0, capacity);
    for _ in 0..100 {
        let level = f64::midpoint(low, high);
        if given(level).sum::<f64>() < capacity { low = level } else { high = level }
    }
    given(low).collect()
}
