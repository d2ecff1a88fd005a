//! A room so small that a key which asks for all could fill it.

use crate::plant::{Arrivals, Source};
use crate::{WAIT_LIMIT, limits, run_plain, usual_or_long};

#[test]
fn keys_find_a_place_in_a_room_that_another_has_filled() {
    // A key whose bursts meet loses some of them when others have filled the room, too: with a
    // larger room the success is 1.
    let rooms = [
        ("tight", 20, 9, 50.0, 1, 0.9999),
        ("bursts", 50, 9, 10.0, 5, 0.9997),
        ("bursts of many keys", 50, 40, 2.0, 5, 0.9998),
    ];
    for (name, room, victims, rate, at_once, least) in rooms {
        let mut sources = vec![Source::of(Arrivals::Open { rate, at_once }); victims];
        sources.push(Source::open(2_000.0));
        let figures = run_plain(&limits(10, room), &sources, usual_or_long(300.0, 3_000.0), Some(WAIT_LIMIT), 3);
        let success = figures.of(0..victims).success();
        let busy = figures.running().iter().sum::<f64>() / 10.0;
        println!("room of {room}, {name}: success {success:.5}, busy {busy:.4}");
        assert!(success >= least, "{success}");
        assert!(busy >= 0.999, "{busy}");
    }
}
