//! Keys that come and go, and shares that rest, while the store is slow, cut or refuses.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use bulklink::testing::{FakeRuntime, Task};
use bulklink::{OwnedSlot, Partitions, Rejection};
use bulklink_fleet::{Fleet, Outage, ceiling};

use crate::scene::Scene;
use crate::slow::Weather;

type Tenants = Partitions<String, FakeRuntime>;
type Call = Task<Result<OwnedSlot, Rejection>>;

/// Partitions with a limit of 3 for each key, so many idle ones, and their store.
struct Place {
    scene: Scene,
    weather: Arc<Weather>,
    tenants: Tenants,
    _fleet: Fleet<FakeRuntime>,
}

impl Place {
    fn new(keys: u32, waiting_room: usize, outage: Outage) -> Self {
        let scene = Scene::new();
        let slow = scene.slow(0);
        let (fleet, weather) = (scene.fleet_on(slow.clone()), slow.weather);
        let builder =
            Partitions::builder_on(scene.executor.runtime(), "tenants").parallelism(10).waiting_room(waiting_room);
        let tenants = builder.max_partitions(keys.max(10) as usize).build().expect("valid");
        fleet
            .share_partitions(&tenants, move |_, share| share.limit(3).on_outage(outage))
            .expect("no partition exists");
        let mut place = Place { scene, weather, tenants, _fleet: fleet };
        for number in 0..keys {
            place.touch(&format!("t{number}"));
        }
        place
    }

    fn call(&mut self, key: &str) -> Call {
        let call = self.scene.executor.spawn(self.tenants.key(key).slot());
        self.scene.executor.run_until_idle();
        call
    }

    fn slot(&mut self, key: &str) -> OwnedSlot {
        self.call(key).output().expect("it is over").expect("it is admitted")
    }

    fn touch(&mut self, key: &str) {
        drop(self.slot(key));
    }

    fn discard(&self, keys: std::ops::Range<u32>) {
        assert!(keys.into_iter().all(|number| self.tenants.discard(&*format!("t{number}"))));
    }

    /// Cuts the connection, or stops the server, and waits until so many names have been asked for.
    fn reconnect(&mut self, is_another: bool, asked: usize) {
        let before = self.weather.listened.load(SeqCst);
        if is_another {
            self.scene.store.stop();
            self.scene.advance(100);
            self.scene.store.start();
        } else {
            self.scene.store.cut();
        }
        while self.weather.listened.load(SeqCst) < before + asked {
            self.scene.advance(1);
        }
    }

    /// The names of ceilings, each once.
    fn ceilings(&self, keys: std::ops::Range<u32>) -> Vec<&'static str> {
        let handles = keys.filter_map(|number| self.tenants.partition(&*format!("t{number}")));
        let mut names: Vec<_> = handles.map(|handle| handle.ceilings().first().map_or("none", |it| it.by)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[test]
fn keys_that_differ_in_white_space_have_limits_of_their_own() {
    let mut place = Place::new(0, 100, Outage::Reject);
    let slots = ["ann", "ann ", "Ann", "ann\n", ""].map(|key| [(); 3].map(|()| place.slot(key)));
    let waiting = place.call("ann ");
    place.scene.advance(1_000);
    assert!(!waiting.is_finished());
    drop(slots);
    place.scene.advance(1_000);
    assert!(waiting.is_finished());
}

#[test]
fn an_evicted_key_is_listened_to_no_more() {
    let mut place = Place::new(10, 100, Outage::Reject);
    for number in 0..1_000 {
        place.touch(&format!("t{number}"));
    }
    place.scene.advance(1_000);
    assert_eq!((place.tenants.status().partitions, place.scene.store.listeners()), (10, 10));
    // One that comes again while that is on its way.
    place.weather.millis.store(20, SeqCst);
    assert!(place.tenants.discard("t999"));
    let again = place.call("t999");
    place.scene.advance(1_000);
    drop(again.output().expect("it is over").expect("it is admitted"));
    // One that goes while the answer to the first message of its connection is on its way.
    place.reconnect(false, 1);
    assert!(place.tenants.discard("t999"));
    place.scene.advance(30_000);
    assert_eq!(place.scene.store.listeners(), 0);
}

#[test]
fn the_first_call_of_a_key_fetches_without_a_waiting_room() {
    let mut place = Place::new(0, 0, Outage::Reject);
    place.touch("ann");
    place.touch("bob");
    assert!(place.tenants.discard("ann"));
    place.touch("ann");
    // Not while the store is out of reach.
    place.scene.store.stop();
    place.scene.advance(1);
    let rejection = place.call("cat").output().expect("it does not wait").expect_err("the store is away");
    assert_eq!(rejection.restriction().map(|it| it.by), Some(ceiling::UNAVAILABLE));
}

#[test]
fn idle_keys_cost_nothing_where_the_run_of_the_server_is_unknown() {
    let mut place = Place::new(0, 100, Outage::Reject);
    place.weather.has_no_run.store(true, SeqCst);
    for number in 0..100 {
        place.touch(&format!("t{number}"));
    }
    place.scene.advance(30_000);
    let count = |place: &Place| {
        let Weather { unlistened, statements, .. } = &*place.weather;
        (place.weather.listened.load(SeqCst), unlistened.load(SeqCst), statements.load(SeqCst))
    };
    let before = count(&place);
    place.scene.advance(600_000);
    assert_eq!(count(&place), before);
}

/// Shares that wait for their turn to ask whether the server is another.
#[test]
fn keys_that_are_evicted_meanwhile_hold_up_no_other() {
    for (is_another, asked, evicted) in [(false, 1, 0..1), (true, 65, 0..150), (true, 1, 0..1), (true, 1, 20..21)] {
        let mut place = Place::new(500, 100, Outage::Reject);
        place.scene.advance(30_000);
        place.weather.millis.store(20, SeqCst);
        place.reconnect(is_another, asked);
        place.discard(evicted.clone());
        place.scene.advance(2_000);
        let state = if is_another { ceiling::RECOVERING } else { ceiling::SHARE };
        assert_eq!(place.ceilings(0..500), [state], "{asked} {evicted:?}");
        let listeners = if is_another { 500 - evicted.len() } else { 0 };
        assert_eq!(place.scene.store.listeners(), listeners, "{asked} {evicted:?}");
        place.scene.advance(20_000);
        assert_eq!((place.ceilings(0..500), place.scene.store.listeners()), (vec![ceiling::SHARE], 0));
    }
}

#[test]
fn no_ceiling_stays_lifted_while_the_store_is_in_reach() {
    let mut place = Place::new(500, 100, Outage::Admit);
    place.scene.advance(30_000);
    place.weather.millis.store(50, SeqCst);
    place.reconnect(true, 65);
    place.discard(0..150);
    place.scene.advance(60_000);
    place.weather.millis.store(0, SeqCst);
    let slots: Vec<_> = (0..3).map(|_| place.slot("t400")).collect();
    place.scene.advance(1_000);
    assert!(place.tenants.key("t400").try_slot().is_err());
    drop(slots);
}

#[test]
fn another_server_is_not_asked_for_all_keys_at_once() {
    let mut place = Place::new(2_000, 100, Outage::Reject);
    place.scene.advance(30_000);
    place.weather.at_once.lock().unwrap().1 = 0;
    place.weather.millis.store(1, SeqCst);
    place.reconnect(true, 2_000);
    assert_eq!(place.weather.at_once.lock().unwrap().1, 64);
}

/// At each moment of the message that ends it, whether that is refused or not.
#[test]
fn a_share_comes_back_while_it_begins_to_rest() {
    for (at, refuses) in [(0, false), (3, false), (9, false), (10, false), (11, false), (5, true), (20, true)] {
        let mut place = Place::new(1, 100, Outage::Reject);
        place.weather.millis.store(10, SeqCst);
        while place.weather.unlistened.load(SeqCst) == 0 {
            place.scene.advance(1);
        }
        place.weather.refuses.store(refuses, SeqCst);
        place.scene.advance(at);
        let again = place.call("t0");
        place.scene.advance(5);
        place.weather.refuses.store(false, SeqCst);
        place.scene.advance(2_000);
        drop(again.output().expect("it is over").expect("it is admitted"));
    }
}

#[test]
fn a_share_comes_back_if_the_connection_ends_while_it_begins_to_rest() {
    for is_another in [false, true] {
        let mut place = Place::new(1, 100, Outage::Reject);
        place.weather.millis.store(10, SeqCst);
        while place.weather.unlistened.load(SeqCst) == 0 {
            place.scene.advance(1);
        }
        place.reconnect(is_another, 0);
        place.weather.millis.store(0, SeqCst);
        place.scene.advance(30_000);
        place.touch("t0");
    }
}

#[test]
fn a_store_that_refuses_to_listen_is_asked_once_a_second() {
    let mut place = Place::new(1, 100, Outage::Reject);
    place.scene.advance(20_000);
    place.weather.refuses.store(true, SeqCst);
    let before = place.weather.listened.load(SeqCst);
    let waiting = place.call("t0");
    place.scene.advance(5_500);
    assert_eq!(place.weather.listened.load(SeqCst) - before, 6);
    place.weather.refuses.store(false, SeqCst);
    place.scene.advance(1_000);
    assert!(waiting.is_finished());
}
