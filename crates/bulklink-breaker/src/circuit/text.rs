//! Settings and their changes as text, for a log.

use std::fmt::{Debug, Display};

use super::settings::{Settings, Span, Threshold};

impl Settings {
    /// Returns the settings that are set, by the names of a configuration: `failures 5`.
    pub(crate) fn text(&self) -> String {
        let unset = Settings::of_last(0).values();
        let set = self.values().into_iter().zip(unset).filter(|(value, unset)| value != unset);
        let texts = set.filter_map(|((name, value), _)| Some(format!("{name} {}", value?)));
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Returns what differs from the settings before: `failures 5 -> 3`.
    pub(crate) fn changes_from(&self, before: &Settings) -> String {
        let pairs = before.values().into_iter().zip(self.values()).filter(|(before, now)| before != now);
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".into());
        let texts = pairs.map(|((name, before), (_, now))| format!("{name} {} -> {}", or_none(before), or_none(now)));
        texts.collect::<Vec<_>>().join(", ")
    }

    fn values(&self) -> [(&'static str, Option<String>); 14] {
        let calls = |threshold| match threshold {
            Some(Threshold::Calls(calls)) => Some(calls.to_string()),
            _ => None,
        };
        let percent = |threshold| match threshold {
            Some(Threshold::Percent(percent)) => Some(percent.to_string()),
            _ => None,
        };
        let (of_last, over) = match self.window {
            Span::Calls(calls) => (number(Some(calls)), None),
            Span::Time(time) => (None, duration(Some(time))),
        };
        [
            ("of_last", of_last),
            ("over", over),
            ("failures", calls(self.failures)),
            ("failure_rate", percent(self.failures)),
            ("slow_after", duration(self.slow_after)),
            ("slow_calls", calls(self.slow)),
            ("slow_rate", percent(self.slow)),
            ("min_calls", number(self.min_calls)),
            ("cool_down", duration(Some(self.cool_down))),
            ("longest_cool_down", duration(self.longest_cool_down)),
            ("probes", number(Some(self.probes))),
            ("close_after", number(Some(self.close_after))),
            ("reopen_after", number(Some(self.reopen_after))),
            ("probe_lease", duration(Some(self.probe_lease))),
        ]
    }
}

fn number(number: Option<impl Display>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn duration(duration: Option<impl Debug>) -> Option<String> {
    duration.map(|duration| format!("{duration:?}"))
}
