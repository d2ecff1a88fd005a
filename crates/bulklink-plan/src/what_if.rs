//! The effect of a plan where an assumption is wrong.

use std::ops::ControlFlow;
use std::time::Duration;

use bulklink_core::Limits;

use crate::ask::{Ask, Burst};
use crate::plan::{Progress, Search, Stopped, Stream, WhatIf};

/// The lengths of phases in milliseconds, of which the longest is taken that the budget allows.
const STAYS: [u64; 4] = [10_000, 1_000, 100, 10];

/// Adds one after the other.
pub(crate) fn all<P: FnMut(&Progress) -> ControlFlow<()>>(
    search: &mut Search<'_, P>,
    limits: &Limits,
    into: &mut Vec<WhatIf>,
) -> Result<(), Stopped> {
    search.step("wrong assumptions");
    for (what, ask) in wrong(search.ask) {
        let calls = ask.least_calls().max(ask.budget / 4);
        let figures = search.measure(&ask, 1.0, limits, calls, Stream::WhatIf)?;
        into.push(WhatIf { what, figures, needs: None });
        let needs = search.least_capacity(&ask, ask.budget / 8)?;
        into.last_mut().expect("it was pushed").needs = Some(needs);
    }
    Ok(())
}

/// The asks of which one assumption is another.
fn wrong(ask: &Ask) -> Vec<(String, Ask)> {
    let rate = |times| Ask { rate: ask.rate * times, ..ask.clone() };
    let holds = |times| Ask { hold: ask.hold.scaled(times), ..ask.clone() };
    let burst = |burst| Ask { burst, ..ask.clone() };
    let mut wrong = vec![
        ("rate +10 %".to_owned(), rate(1.1)),
        ("rate +20 %".to_owned(), rate(1.2)),
        ("rate +50 %".to_owned(), rate(1.5)),
        ("holds +10 %".to_owned(), holds(1.1)),
        ("holds +20 %".to_owned(), holds(1.2)),
        ("holds +50 %".to_owned(), holds(1.5)),
    ];
    match ask.burst {
        Burst::None => {
            wrong.push(("calls in fours".to_owned(), burst(Burst::Batches(4.0))));
            let phases = |millis| burst(Burst::Phases(2.0, Duration::from_millis(millis)));
            let longest = STAYS.into_iter().find(|millis| phases(*millis).least_calls() <= ask.budget.max(100_000));
            let stay = longest.unwrap_or(1);
            wrong.push((format!("rate 2:1, each {:?}", Duration::from_millis(stay)), phases(stay)));
        }
        Burst::Batches(size) => wrong.push((format!("batches of {}", 2.0 * size), burst(Burst::Batches(2.0 * size)))),
        Burst::Phases(ratio, stay) => {
            let ratio = 1.5 * ratio;
            wrong.push((format!("rate {ratio}:1, each {stay:?}"), burst(Burst::Phases(ratio, stay))));
        }
    }
    if ask.deadline.is_some() && !ask.brings_deadline {
        wrong.push(("calls bring the deadline".to_owned(), Ask { brings_deadline: true, ..ask.clone() }));
    }
    wrong
}
