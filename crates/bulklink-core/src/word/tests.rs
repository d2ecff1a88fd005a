//! The word on its own: every combination of flags with the ends and the middle of every field.

use alloc::vec::Vec;

use super::*;

/// The fields and flags of a word, unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the word's flags")]
struct Fields {
    in_flight: u64,
    offered: u64,
    rejected: u64,
    admitted: u64,
    complete: bool,
    restricted: bool,
    timed: bool,
    closed: bool,
    held: bool,
}

impl Fields {
    fn rejects(self) -> bool {
        self.complete || self.restricted
    }
}

fn fields(word: Word) -> Fields {
    Fields {
        in_flight: word.in_flight().into(),
        offered: word.offered().into(),
        rejected: word.rejected(),
        admitted: word.admitted(),
        complete: word.0 & COMPLETE != 0,
        restricted: word.0 & RESTRICTED != 0,
        timed: word.0 & TIMED != 0,
        closed: word.is_closed(),
        held: word.is_held(),
    }
}

fn word(f: Fields) -> Word {
    Word(f.in_flight | f.offered << OFFERED | f.rejected << REJECTED | f.admitted << ADMITTED)
        .with(COMPLETE, f.complete)
        .with(RESTRICTED, f.restricted)
        .with(TIMED, f.timed)
        .with(CLOSED, f.closed)
        .with(HELD, f.held)
}

/// Every word that a gate can have published, with these values in its fields.
fn all() -> Vec<Fields> {
    let units = [0, 1, 2, UNITS / 2, UNITS - 1, UNITS];
    let counts = |most| [0, 1, most / 2, most - 1, most];
    let mut all = Vec::new();
    for in_flight in units {
        for offered in units.into_iter().filter(|offered| in_flight + offered <= UNITS) {
            for rejected in counts(REJECTIONS) {
                for admitted in counts(ADMISSIONS) {
                    for flags in 0..32 {
                        let [complete, restricted, timed, closed, held] = [1, 2, 4, 8, 16].map(|bit| flags & bit != 0);
                        let units = Fields { in_flight, offered, rejected, admitted, ..Fields::default() };
                        all.push(Fields { complete, restricted, timed, closed, held, ..units });
                    }
                }
            }
        }
    }
    // A closed word is held. A held word has free units only if it is closed. A held word admits
    // nothing.
    all.retain(|f| f.held || !f.closed);
    all.retain(|f| f.closed || !f.held || f.offered == 0);
    all.retain(|f| !f.held || f.admitted == 0);
    // A word that is complete is not restricted; a closed one never is.
    all.retain(|f| !f.restricted || !f.complete && !f.closed);
    all
}

#[test]
fn a_word_is_full_at_the_largest_count_of_admissions() {
    for f in all() {
        assert_eq!(word(f).is_full(), !f.held && f.admitted == ADMISSIONS, "{f:?}");
        assert!(!word(f).is_full() || word(f).acquire().is_none(), "{f:?}");
    }
    assert_eq!(u64::from(Word::MAX_ADMITTED), ADMISSIONS);
}

#[test]
fn every_field_survives_packing_and_unpacking() {
    for f in all() {
        assert_eq!(fields(word(f)), f);
        assert_eq!(Word::from_bits(word(f).to_bits()), word(f));
    }
}

#[test]
fn acquire_admits_on_an_offered_unit_and_changes_nothing_else() {
    for f in all() {
        let admitted = word(f).acquire().map(|(after, grant)| (fields(after), grant.is_by_word()));
        let possible = !f.held && f.offered > 0 && f.admitted < ADMISSIONS;
        let after =
            Fields { in_flight: f.in_flight + 1, offered: f.offered.wrapping_sub(1), admitted: f.admitted + 1, ..f };
        assert_eq!(admitted, possible.then_some((after, true)), "{f:?}");
    }
}

/// Releases the slots of this many operations, one after the other.
fn release(word: Word, operations: u64) -> Word {
    Word(word.0.wrapping_add(Word::RELEASE.wrapping_mul(operations)))
}

#[test]
fn release_frees_a_unit_and_changes_nothing_else() {
    for f in all().into_iter().filter(|f| f.in_flight > 0) {
        let after = Fields { in_flight: f.in_flight - 1, offered: f.offered + 1, ..f };
        assert_eq!(fields(release(word(f), 1)), after, "{f:?}");
        assert_eq!(word(f).has_released(&Grant::BY_WORD), !f.held, "{f:?}");
    }
}

#[test]
fn a_held_word_keeps_flags_and_counts_through_releases() {
    let asks = [Request::new(), Request::new().now()];
    for f in all().into_iter().filter(|f| f.held && (f.rejects() || f.in_flight + f.offered == 0)) {
        // A word without figures may meet more releases than it has in flight.
        let most = if f.rejects() { f.in_flight } else { UNITS };
        for releases in [0, 1, 2, UNITS / 2, UNITS].into_iter().filter(|&releases| releases <= most) {
            let released = release(word(f), releases);
            let flags_and_counts = |word: Word| Fields { in_flight: 0, offered: 0, ..fields(word) };
            assert_eq!(flags_and_counts(released), flags_and_counts(word(f)), "{f:?} after {releases}");
            assert!(released.acquire().is_none() && !released.has_released(&Grant::BY_WORD));
            assert!(released.acquire().is_none());
            assert!(released.reject_now().is_none_or(|(after, _)| after.is_held()));
            let units = |word: Word| word.reject_restricted(&asks[0], 7).map(|(_, it)| it.restricted_to());
            assert_eq!(units(released), units(word(f)), "{f:?} after {releases}");
            for (ask, room) in asks.iter().flat_map(|ask| [(ask, 0), (ask, 7)]) {
                let [after, before] =
                    [released, word(f)].map(|word| word.reject(ask, room).map(|(_, it)| it.rejection(room)));
                assert_eq!(after.is_some(), before.is_some(), "{f:?} after {releases}");
                let (Some(after), Some(before)) = (after, before) else { continue };
                let ended = if f.closed { releases } else { 0 };
                assert_eq!(after.occupancy().in_flight() as u64, before.occupancy().in_flight() as u64 - ended);
                assert_eq!(after.occupancy().capacity(), before.occupancy().capacity());
                assert_eq!(after.reason(), before.reason());
            }
        }
    }
}

#[test]
fn a_word_rejects_only_requests_that_the_gate_would_reject() {
    let asks = [Request::new(), Request::new().now(), Request::new().within(core::time::Duration::ZERO)];
    for f in all() {
        for (request, waiting_room) in asks.iter().flat_map(|ask| [(ask, 0), (ask, 7)]) {
            let instant = !request.may_queue();
            let reason = match (f.closed, f.held) {
                (true, _) => Some(Reason::Closed),
                (false, true) => Some(Reason::Saturated),
                (false, false) => (f.offered == 0 && (instant || waiting_room == 0)).then_some(Reason::Saturated),
            };
            let limited = request.has_limit();
            let certain = f.rejects() && f.rejected <= REJECTIONS / 2 && (f.closed || !limited);
            let both = [Word::reject, Word::reject_restricted].map(|reject| reject(word(f), request, waiting_room));
            assert!(both[usize::from(!f.restricted)].is_none(), "{f:?}: the other's flag");
            let refused = both[0].or(both[1]);
            let rejected = refused.map(|(after, it)| (after, it.rejection(waiting_room)));
            let seen = rejected.map(|(after, rejection)| (fields(after), rejection.reason()));
            let after = Fields { rejected: f.rejected + 1, ..f };
            assert_eq!(seen, reason.filter(|_| certain).map(|reason| (after, reason)), "{f:?} {request:?}");
            let Some((_, rejection)) = rejected else { continue };
            let occupancy = rejection.occupancy();
            let waiting = if f.held && !f.closed { waiting_room } else { 0 };
            assert_eq!((occupancy.waiting(), occupancy.waiting_room()), (waiting as usize, waiting_room as usize));
            assert_eq!((occupancy.in_flight() as u64, occupancy.in_use() as u64), (f.in_flight, f.in_flight));
            assert_eq!(occupancy.capacity() as u64, f.in_flight + f.offered);
            let (_, refusal) = refused.expect("as before");
            let units = f.restricted.then_some(f.in_flight + f.offered);
            assert_eq!(refusal.restricted_to().map(u64::from), units);
            let occupancy = refusal.rejection_of(waiting_room, 1 << 20).occupancy();
            assert_eq!((occupancy.capacity(), occupancy.in_flight() as u64), (1 << 20, f.in_flight));
        }
    }
}

#[test]
fn a_request_that_may_not_wait_is_turned_away_alike_in_both_ways() {
    for f in all().into_iter().filter(|f| !f.closed || f.offered == 0) {
        let request = Request::new().now();
        let rejected = word(f).reject(&request, 7).or_else(|| word(f).reject_restricted(&request, 7));
        let rejected = rejected.map(|(after, it)| (after, it.rejection(7)));
        let rejected = rejected.filter(|_| f.offered == 0);
        let both = [word(f).reject_now(), word(f).reject_now_restricted()];
        assert!(both[usize::from(!f.restricted)].is_none(), "{f:?}: the other's flag");
        let rejected_now = both[0].or(both[1]).map(|(after, it)| (after, it.rejection(7)));
        assert_eq!(rejected_now, rejected, "{f:?}");
        assert!(rejected_now.is_none() || word(f).acquire().is_none());
    }
}

#[test]
fn nothing_succeeds_on_an_inert_word() {
    for f in all().into_iter().filter(|f| f.in_flight > 0 && word(*f).is_inert()) {
        assert!(word(f).acquire().is_none() && !word(f).has_released(&Grant::BY_WORD));
        assert!(
            word(f).reject(&Request::new().now(), 0).is_none()
                && word(f).reject_now().is_none()
                && word(f).acquire().is_none()
        );
    }
    assert!(Word::GATE.is_inert());
}

#[test]
fn nothing_succeeds_on_the_gate_word() {
    assert!(Word::GATE.acquire().is_none() && !Word::GATE.has_released(&Grant::BY_WORD));
    assert!(Word::GATE.reject(&Request::new().now(), 0).is_none());
}

#[test]
fn the_time_is_needed_for_deadlines_and_for_waits() {
    let (plain, limited) = (Request::new(), Request::new().within(core::time::Duration::from_secs(1)));
    let needs = |word: Word, timed, request: &Request| word.with(TIMED, timed).needs_now(Some(request));
    let (free, full) = (Word::of(1, 1).with(COMPLETE, true), Word::of(2, 0).with(COMPLETE, true));
    let held = full.with(HELD, true);
    let (free_of_some, none_of_some) = (Word::of(1, 1).with(RESTRICTED, true), Word::of(2, 0).with(RESTRICTED, true));
    assert!(!needs(free_of_some, true, &plain) && needs(none_of_some, true, &plain));
    assert!(!needs(free, true, &limited) && needs(free, true, &plain.before(crate::Instant::EPOCH)));
    assert!(needs(full, true, &plain) && !needs(full, false, &plain));
    assert!(needs(full, false, &limited) && !needs(full, true, &limited.now()));
    assert!(needs(held, true, &plain.now()) && !needs(held, false, &plain));
    assert!(needs(Word::GATE, true, &plain) && !needs(Word::GATE, false, &limited), "the gate says what it needs");
    let ends = |word: Word, timed| word.with(TIMED, timed).needs_now(None);
    assert!(ends(held, true) && !ends(held, false), "an operation that ends passes its units on");
    assert!(!ends(full, true) && !ends(free, true), "no call waits for the units");
}
