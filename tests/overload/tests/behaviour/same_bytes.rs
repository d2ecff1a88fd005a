//! The bytes of a result depend on plant, controller and seed, and on nothing else.

use bulklink_overload::contestants::{CONTESTANTS, Contestant};
use bulklink_overload::document::digest;
use bulklink_overload::known::{self, Known};
use bulklink_overload::plant::Plant;
use bulklink_overload::plants::SETS;
use bulklink_overload::random::Random;
use bulklink_overload::results::{Order, Record, Results};
use bulklink_overload::table;

/// One plant of each kind, for a few seconds.
fn plants() -> Vec<Plant> {
    let names = ["c1", "c5j", "f", "H3", "H10", "V2", "V10", "W1"];
    let all = SETS.iter().flat_map(|set| (set.plants)());
    let some: Vec<_> = all.filter(|plant| names.contains(&plant.short_name())).collect();
    assert_eq!(some.len(), names.len());
    some.into_iter().map(|plant| plant.measured(0.5, 2.0)).collect()
}

fn lines(contestants: Vec<Contestant>, threads: usize) -> (String, String) {
    let order = Order { contestants, seeds: 2, threads, known: Known::default() };
    let results = Results::measure("test", plants(), &order);
    let lines: Vec<String> = results.records.iter().map(Record::line).collect();
    (lines.join("\n"), table::summary(std::slice::from_ref(&results)) + &table::details(&results))
}

#[test]
fn a_result_has_the_same_bytes_twice_and_on_any_number_of_threads() {
    let once = lines(CONTESTANTS.into(), 1);
    assert_eq!(once, lines(CONTESTANTS.into(), 2));
    assert_eq!(once, lines(CONTESTANTS.into(), 5));
}

#[test]
fn a_result_has_the_same_bytes_on_each_machine() {
    let fixed: Vec<_> = CONTESTANTS.into_iter().filter(|contestant| contestant.name == "fixed 20").collect();
    let (lines, tables) = lines(fixed, 2);
    assert_eq!(digest(lines.lines()), 4_181_262_507_554_959_378, "{lines}");
    assert_eq!(digest(tables.lines()), 11_434_235_253_962_323_614, "{tables}");
}

#[test]
fn best_limits_that_are_known_give_the_same_bytes() {
    let order = |known| Order { contestants: CONTESTANTS[..2].into(), seeds: 1, threads: 2, known };
    let found = Results::measure("test", plants(), &order(Known::default()));
    let text = known::text(found.plants.iter().zip(&found.best));
    let again = Results::measure("test", plants(), &order(Known::read(&text).unwrap()));
    let lines = |results: &Results| results.records.iter().map(Record::line).collect::<Vec<_>>();
    assert_eq!(lines(&found), lines(&again));
    assert_eq!(known::text(again.plants.iter().zip(&again.best)), text);
    let mut changed: Vec<_> = text.lines().map(|line| line.replacen(' ', " 1000", 1)).collect();
    changed.truncate(3);
    let other = Known::read(&changed.join("\n")).unwrap();
    assert!(other.complete(&plants()[..2], 2).iter().all(|best| best.limit >= 1000), "they are known");
    // Half a second longer is another plant.
    let longer = plants().remove(0).measured(0.5, 2.5);
    assert!(other.complete(&[longer], 2)[0].limit < 1000, "it is not known");
    assert!(Known::read("x 1 2 3").unwrap_err().to_string().contains("`x 1 2 3`"));
}

#[test]
fn random_numbers_are_those_of_splitmix64() {
    let mut random = Random::new(1);
    let bits: Vec<u64> = (0..2).map(|_| random.bits()).collect();
    assert_eq!(bits, [12_895_639_517_224_068_341, 8_672_369_133_767_061_117]);
}

#[test]
fn distributions_have_their_mean_and_spread() {
    let mut random = Random::new(2);
    let mut moments = |draw: fn(&mut Random) -> f64| {
        let drawn: Vec<f64> = (0..200_000).map(|_| draw(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / 200_000.0;
        (mean, drawn.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / 200_000.0)
    };
    let near = |(mean, variance): (f64, f64), expected: (f64, f64)| {
        assert!((mean - expected.0).abs() < 0.01 && (variance / expected.1 - 1.0).abs() < 0.03, "{mean} {variance}");
    };
    near(moments(Random::unit), (0.5, 1.0 / 12.0));
    near(moments(Random::exponential), (1.0, 1.0));
    near(moments(Random::normal), (0.0, 1.0));
    near(moments(|random| random.log_normal(0.5)), (1.0, 0.25_f64.exp() - 1.0));
}
