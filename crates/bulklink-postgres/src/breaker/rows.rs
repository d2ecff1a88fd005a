//! What operations do to the row of a circuit: all decisions are those of a [`Record`].

use std::collections::BTreeSet;
use std::iter::repeat_n;

use bulklink::runtime::Instant;
use bulklink_breaker::Settings;
use bulklink_fleet::circuits::encoding::row_text;
use bulklink_fleet::circuits::record::Record;
use bulklink_fleet::circuits::{Operation, Reply};
use bulklink_fleet::{Name, ServerTime, StoreError};

use super::changes::CHANNEL;
use crate::schema::Part;
use crate::worker::{Done, Notices, Rows};

/// The rows of circuits.
pub(super) struct Circuits;

impl Rows for Circuits {
    const PART: Part = Part::Breaker;

    type Command = (Option<Settings>, Operation);
    type Answer = Reply;
    type Told = ();

    fn reads((_, operation): &Self::Command) -> bool {
        *operation == Operation::Load
    }

    fn apply<'a>(
        &self,
        name: &Name,
        text: Option<&str>,
        now: ServerTime,
        _: &BTreeSet<i64>,
        commands: impl Iterator<Item = &'a Self::Command> + Clone,
    ) -> Result<Done<Self>, StoreError> {
        let now = instant(now);
        let known = text.map(Record::of_text);
        // A circuit that replaces a malformed one is a transition too.
        let is_malformed = known == Some(None);
        let mut record = known.flatten().unwrap_or_else(|| Record::in_place_of(text.unwrap_or_default(), now));
        let mut told = Some(record.generation()).filter(|_| !is_malformed);
        let (mut answers, mut notices) = (vec![], Notices::default());
        for (settings, operation) in commands {
            let answer = record.apply(now, settings.as_ref(), operation);
            if let Ok(Reply { row, .. }) = &answer {
                if told.replace(row.generation) != Some(row.generation) {
                    notices.messages.push(format!("{name} {}", row_text(row)));
                }
            }
            answers.push(answer);
        }
        notices.channels = repeat_n(CHANNEL.to_owned(), notices.messages.len()).collect();
        let is_refused = answers.iter().all(Result::is_err);
        Ok(Done { text: Some(record.text()).filter(|_| !is_refused), answers, told: (), notices })
    }

    /// The server takes no writes, and the primary may be another one now; or the table was
    /// replaced.
    fn ends(refusal: &StoreError) -> bool {
        refusal.code().is_some_and(|code| ["25006", "0A000", "26000", "42P01", "42703"].contains(&code))
    }

    fn committed(&self, _: &Name, (): ()) -> bool {
        true
    }
}

/// The server's time, as circuits have it.
pub(super) fn instant(now: ServerTime) -> Instant {
    Instant::from_nanos(u64::from(now).saturating_mul(1000))
}
