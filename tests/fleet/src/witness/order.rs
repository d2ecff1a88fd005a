//! Which calls were certainly overtaken.
//!
//! A call A is overtaken by B if the server had A before B's client asked, and granted B first.
//!
//! - *The server had A*: commands of a process travel in order on one connection. So as soon as an
//!   acquire or a release of the same process that began after A is answered, A has arrived, or
//!   is in the same packet. This holds only while no connection is cut, and no command repeated.
//! - *B was granted first*: B has the smaller token. Where a scheme has none, B's client had its
//!   permit before A's client sent the command that brought it A's.

use super::{Call, Nanos};

/// Returns the places of the waiting calls that were certainly overtaken by a later one.
pub fn overtaken(calls: &[Call]) -> Vec<usize> {
    let arrivals = arrivals(calls);
    let mut later: Vec<_> = calls
        .iter()
        .filter(|call| call.waits)
        .filter_map(|call| call.admitted().map(|(hold, end)| (call.start, hold.token.unwrap_or(u64::MAX), end)))
        .collect();
    later.sort_unstable();
    // The first token and the first end of all that began here or later.
    for place in (0..later.len().saturating_sub(1)).rev() {
        let (_, token, end) = later[place + 1];
        later[place].1 = later[place].1.min(token);
        later[place].2 = later[place].2.min(end);
    }
    let is_overtaken = |place: &usize| {
        let call = &calls[*place];
        let Some((hold, _)) = call.admitted().filter(|_| call.waits) else { return false };
        let first = later.partition_point(|(start, ..)| *start <= arrivals[*place]);
        let after = later.get(first);
        after.is_some_and(|(_, token, end)| match hold.token {
            Some(own) => *token < own,
            None => *end <= hold.not_before,
        })
    };
    (0..calls.len()).filter(is_overtaken).collect()
}

/// The instant by which each call has certainly arrived at the server.
fn arrivals(calls: &[Call]) -> Vec<Nanos> {
    let mut commands = Vec::new();
    for call in calls {
        commands.extend(call.end.map(|end| (call.process, call.start, end)));
        let release = call.admitted().and_then(|(hold, _)| hold.release);
        commands.extend(release.and_then(|(start, end)| Some((call.process, start, end?))));
    }
    commands.sort_unstable();
    // The first answer to a command that began here or later, in the same process.
    for place in (0..commands.len().saturating_sub(1)).rev() {
        if commands[place].0 == commands[place + 1].0 {
            commands[place].2 = commands[place].2.min(commands[place + 1].2);
        }
    }
    let arrival = |call: &Call| {
        let next = commands.partition_point(|(process, start, _)| (*process, *start) <= (call.process, call.start));
        let answer = commands.get(next).filter(|(process, ..)| *process == call.process);
        answer.map_or(Nanos::MAX, |(.., end)| *end).min(call.end.unwrap_or(Nanos::MAX))
    };
    calls.iter().map(arrival).collect()
}

/// Returns the places of the calls whose token is not above those of all calls that certainly had
/// theirs before this one asked. It does not apply where a process hands permits over itself.
pub fn unfenced(calls: &[Call]) -> Vec<usize> {
    let tokens = calls.iter().filter_map(|call| call.admitted().and_then(|(hold, end)| Some((end, hold.token?))));
    let mut highest: Vec<_> = tokens.collect();
    highest.sort_unstable();
    for place in 1..highest.len() {
        highest[place].1 = highest[place].1.max(highest[place - 1].1);
    }
    let is_unfenced = |call: &Call| {
        let Some(token) = call.admitted().and_then(|(hold, _)| hold.token) else { return false };
        let before = highest.partition_point(|(end, _)| *end < call.start);
        before > 0 && highest[before - 1].1 >= token
    };
    (0..calls.len()).filter(|place| is_unfenced(&calls[*place])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NONE, admitted, waiting, with_token};
    use super::*;

    /// A waiting call of a process, with its start and its end, and no release.
    fn waiter(process: u32, client: u32, start: Nanos, end: Nanos) -> Call {
        let mut call = waiting(admitted(client, [start, end, end + 1, end + 2]));
        call.process = process;
        if let super::super::Outcome::Admitted(hold) = &mut call.outcome {
            (hold.not_before, hold.release) = (end - 1, None);
        }
        call
    }

    #[test]
    fn a_call_that_has_arrived_is_overtaken_by_one_that_begins_later() {
        // The second call of process 1 is answered at 20: then the first has arrived.
        let calls = |start| [waiter(1, 1, 0, 100), waiter(1, 2, 5, 20), waiter(2, 3, start, 50)];
        assert_eq!(overtaken(&calls(21)), [0]);
        assert_eq!(overtaken(&calls(20)), NONE);
        // Without it, nothing shows that the first had arrived.
        assert_eq!(overtaken(&[waiter(1, 1, 0, 100), waiter(2, 3, 21, 50)]), NONE);
    }

    #[test]
    fn an_answer_to_another_process_shows_nothing() {
        let calls = [waiter(1, 1, 0, 100), waiter(2, 2, 5, 20), waiter(3, 3, 30, 50)];
        assert_eq!(overtaken(&calls), NONE);
        let calls = [waiter(1, 1, 0, 100), waiter(1, 4, 2, 90), waiter(2, 2, 5, 20), waiter(3, 3, 30, 50)];
        assert_eq!(overtaken(&calls), NONE);
    }

    #[test]
    fn a_release_of_the_process_shows_arrival_too() {
        let mut holder = waiter(1, 2, 0, 3);
        if let super::super::Outcome::Admitted(hold) = &mut holder.outcome {
            hold.release = Some((12, Some(20)));
        }
        let calls = [waiter(1, 1, 10, 100), holder, waiter(2, 3, 21, 50)];
        assert_eq!(overtaken(&calls), [0]);
        let calls = [waiter(1, 1, 15, 100), calls[1].clone(), calls[2].clone()];
        assert_eq!(overtaken(&calls), NONE);
    }

    #[test]
    fn without_tokens_the_later_one_must_have_its_permit_before_the_command_of_the_earlier() {
        let calls = |end| [waiter(1, 1, 0, 100), waiter(1, 2, 5, 20), waiter(2, 3, 30, end)];
        assert_eq!(overtaken(&calls(99)), [0]);
        assert_eq!(overtaken(&calls(100)), NONE);
    }

    #[test]
    fn tokens_say_the_order_of_grants() {
        let calls = |first, third| {
            let [a, b, c] = [waiter(1, 1, 0, 100), waiter(1, 2, 5, 20), waiter(2, 3, 30, 50)];
            [with_token(a, first), with_token(b, 1), with_token(c, third)]
        };
        // The notice to the first was late, but it was granted first.
        assert_eq!(overtaken(&calls(2, 3)), NONE);
        assert_eq!(overtaken(&calls(3, 2)), [0]);
    }

    #[test]
    fn calls_that_do_not_wait_have_no_place_in_the_order() {
        let mut calls = [waiter(1, 1, 0, 100), waiter(1, 2, 5, 20), waiter(2, 3, 30, 50)];
        calls[2].waits = false;
        assert_eq!(overtaken(&calls), NONE);
        (calls[2].waits, calls[0].waits) = (true, false);
        assert_eq!(overtaken(&calls), NONE);
    }

    #[test]
    fn a_token_is_above_those_of_all_that_had_theirs_before() {
        let calls = |start, token| [with_token(waiter(1, 1, 0, 10), 7), with_token(waiter(2, 2, start, 20), token)];
        assert_eq!(unfenced(&calls(11, 8)), NONE);
        assert_eq!(unfenced(&calls(11, 7)), [1]);
        assert_eq!(unfenced(&calls(11, 6)), [1]);
        assert_eq!(unfenced(&calls(10, 6)), NONE);
    }
}
