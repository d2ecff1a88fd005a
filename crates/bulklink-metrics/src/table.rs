//! The table of all metrics. Every output takes its names, units and kinds from here, and
//! `docs/guide/metrics.md` shows it.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only grows, until its bulkhead is dropped.
    Counter,
    /// Counts of durations by size, with their number and their sum.
    Histogram,
}

/// The kind of members that a metric is exported for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// Each bulkhead.
    Bulkhead,
    /// Each set of partitions.
    Partitions,
    /// Each bulkhead, and the sum over each set of partitions.
    Both,
    /// Each circuit breaker, with the feature `breaker`.
    Breaker,
    /// Each share of a fleet's limit, with the feature `fleet`.
    Share,
    /// Each file of settings that is followed for a registry.
    Settings,
    /// The exporter itself.
    Exporter,
}

/// One metric: its names, its kind, its unit and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// The name in Prometheus' text and in the `metrics` facade. A histogram has `_bucket`,
    /// `_count` and `_sum` appended.
    pub name: &'static str,
    /// The name in OpenTelemetry. A histogram has `.bucket`, `.count` and `.sum` appended.
    pub otel_name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// The unit, as OpenTelemetry writes it: `s`, `1`, or the counted items in braces, and `/s` for
    /// a rate. Empty for a state, which is 0 or 1.
    pub unit: &'static str,
    /// The kind of members that have it.
    pub subject: Subject,
    /// The label it has beside `bulkhead` and `kind`.
    pub label: Option<&'static str>,
    /// Its meaning, in one sentence.
    pub help: &'static str,
}

macro_rules! table {
    ($($id:ident: $kind:ident of $subject:ident, $name:literal $otel:literal $unit:literal $([$label:literal])?, $help:literal;)*) => {
        /// A row of the table.
        #[cfg_attr(not(all(feature = "breaker", feature = "fleet")), allow(dead_code, reason = "the table has all rows"))]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Id { $($id,)* }

        /// All metrics, in the order in which the text has them.
        pub const NAMES: &[Metric] = &[$(Metric {
            name: concat!("bulklink_", $name),
            otel_name: concat!("bulklink.", $otel),
            kind: Kind::$kind,
            unit: $unit,
            subject: Subject::$subject,
            label: table!(@label $($label)?),
            help: $help,
        },)*];
    };
    (@label) => { None };
    (@label $label:literal) => { Some($label) };
}

table! {
    Capacity: Gauge of Both, "capacity" "capacity" "{unit}",
        "Units that may be in use at the same time; without weights, operations.";
    WaitingRoom: Gauge of Both, "waiting_room" "waiting_room" "{call}",
        "Calls that may wait at the same time.";
    WaitingRoomUnits: Gauge of Bulkhead, "waiting_room_units" "waiting_room_units" "{unit}",
        "Units that waiting calls may ask for together; absent without this bound.";
    WaitLimit: Gauge of Both, "wait_limit_seconds" "wait_limit" "s",
        "The longest wait of a call; absent without this limit.";
    InUse: Gauge of Both, "in_use" "in_use" "{unit}",
        "Units in use.";
    InFlight: Gauge of Both, "in_flight" "in_flight" "{operation}",
        "Operations that have a slot, including those that have not collected it yet.";
    Waiting: Gauge of Both, "waiting" "waiting" "{call}",
        "Calls that wait.";
    WaitingUnits: Gauge of Both, "waiting_units" "waiting_units" "{unit}",
        "Units that the waiting calls ask for.";
    Utilization: Gauge of Bulkhead, "utilization_ratio" "utilization" "1",
        "Units in use per unit of capacity at the moment of the scrape; above 1 while units are owed.";
    OwedUnits: Gauge of Both, "owed_units" "owed_units" "{unit}",
        "Units in use beyond the capacity, after it was reduced.";
    Withheld: Gauge of Bulkhead, "withheld_units" "withheld_units" "{unit}" ["set_by"],
        "Units of the capacity that a ceiling withholds, by its controller; absent while none does.";
    Uncollected: Gauge of Both, "uncollected" "uncollected" "{slot}",
        "Slots that were handed to a waiting call which has not collected them yet.";
    UncollectedAge: Gauge of Bulkhead, "uncollected_age_seconds" "uncollected_age" "s",
        "Age of the oldest slot that is not collected yet; 0 if there is none.";
    WrittenOff: Gauge of Both, "written_off_units" "written_off_units" "{unit}",
        "Units in use that were written off: no operation holds them any more.";
    Closed: Gauge of Both, "closed" "closed" "",
        "1 if closed, else 0.";
    Paused: Gauge of Both, "paused" "paused" "",
        "1 if paused, else 0.";
    Partitions: Gauge of Partitions, "partitions" "partitions" "{partition}",
        "Partitions kept, each for one key.";
    ActivePartitions: Gauge of Partitions, "active_partitions" "active_partitions" "{partition}",
        "Partitions in which a call waits or runs.";
    MaxPartitions: Gauge of Partitions, "max_partitions" "max_partitions" "{partition}",
        "Partitions that may be kept.";
    PartitionCapacity: Gauge of Partitions, "partition_capacity" "partition_capacity" "{unit}",
        "Units that may be in use in one partition, unless its key was given another limit.";
    PartitionWaitingRoom: Gauge of Partitions, "partition_waiting_room" "partition_waiting_room" "{call}",
        "Calls that may wait in one partition, unless its key was given another limit.";
    ClassInUse: Gauge of Partitions, "class_in_use" "class_in_use" "{unit}" ["class"],
        "Units in use, by class; only with a shared capacity.";
    ClassWaiting: Gauge of Partitions, "class_waiting" "class_waiting" "{call}" ["class"],
        "Calls that wait, by class; only with a shared capacity.";
    KeyInUse: Gauge of Partitions, "key_in_use" "key_in_use" "{unit}" ["key"],
        "Units in use of the ten keys with the most; only where keys are shown.";
    KeyWaiting: Gauge of Partitions, "key_waiting" "key_waiting" "{call}" ["key"],
        "Calls that wait of the ten keys with the most; only where keys are shown.";
    KeyRejections: Gauge of Partitions, "key_rejections_per_second" "key_rejections" "{call}/s" ["key"],
        "Calls rejected per second since an earlier scrape, of the ten keys with the most; only where keys are shown.";
    LeftOut: Gauge of Exporter, "left_out" "left_out" "{bulkhead}",
        "Bulkheads, breakers, shares and files that the exporter leaves out, because another has their label.";
    Admitted: Counter of Both, "admitted_total" "admitted" "{call}" ["path"],
        "Calls admitted: directly, or from the queue.";
    Rejected: Counter of Both, "rejected_total" "rejected" "{call}" ["reason"],
        "Calls rejected, by reason; each is counted once.";
    Cancelled: Counter of Both, "cancelled_total" "cancelled" "{call}",
        "Calls cancelled while they waited.";
    Abandoned: Counter of Both, "abandoned_total" "abandoned" "{call}",
        "Calls that were admitted and ended before their operation began, including slots taken back.";
    TakenBack: Counter of Both, "taken_back_total" "taken_back" "{slot}",
        "Slots taken back because they were not collected in time; their calls are among the abandoned.";
    Finished: Counter of Both, "finished_total" "finished" "{operation}",
        "Operations that ended, with any outcome.";
    EndedLate: Counter of Both, "ended_late_total" "ended_late" "{operation}",
        "Operations of calls with a deadline that ended at or after it.";
    ClassAdmitted: Counter of Partitions, "class_admitted_total" "class_admitted" "{call}" ["class"],
        "Calls admitted, by class; only with a shared capacity.";
    ClassRejected: Counter of Partitions, "class_rejected_total" "class_rejected" "{call}" ["class"],
        "Calls rejected in a partition, by class; only with a shared capacity.";
    PartitionsCreated: Counter of Partitions, "partitions_created_total" "partitions_created" "{partition}",
        "Partitions created.";
    PartitionsEvicted: Counter of Partitions, "partitions_evicted_total" "partitions_evicted" "{partition}",
        "Idle partitions removed to make room for another, or in a cleanup.";
    PartitionsDiscarded: Counter of Partitions, "partitions_discarded_total" "partitions_discarded" "{partition}",
        "Partitions discarded by the program.";
    Wait: Histogram of Both, "wait_seconds" "wait" "s" ["le"],
        "Waits that ended in admission; calls that were admitted directly are not among them.";
    Hold: Histogram of Both, "hold_seconds" "hold" "s" ["le"],
        "Time for which operations held their slots; absent unless holds are measured.";
    BusyUnitSeconds: Counter of Both, "busy_unit_seconds_total" "busy_unit" "s",
        "Units in use, summed over time; absent unless holds are measured.";
    OfferedUnitSeconds: Counter of Both, "offered_unit_seconds_total" "offered_unit" "s",
        "Capacity in units, summed over time; absent unless holds are measured.";
    Limit: Gauge of Both, "limit" "limit" "{unit}",
        "Units that the adaptive limit allows, or would while it only monitors; absent without one.";
    LimitBound: Gauge of Bulkhead, "limit_bound" "limit_bound" "{unit}" ["bound"],
        "The least and the greatest value of the adaptive limit.";
    LimitInflation: Gauge of Bulkhead, "limit_inflation_ratio" "limit_inflation" "1",
        "How many times as long calls take as they would alone, as the adaptive limit sees it; 0 until it knows.";
    LimitSlope: Gauge of Bulkhead, "limit_slope_ratio" "limit_slope" "1",
        "Gain in useful work per gain in slots, as the adaptive limit sees it: 1 if slots work alone, 0 if more change nothing.";
    LimitUseful: Gauge of Bulkhead, "limit_useful" "limit_useful" "{unit}",
        "Units that would be in use if each call took as long as it takes alone, as the adaptive limit sees it, rounded.";
    LimitMode: Gauge of Bulkhead, "limit_mode" "limit_mode" "" ["mode"],
        "1 for the mode that the adaptive limit is in, else 0.";
    LimitStep: Gauge of Bulkhead, "limit_step" "limit_step" "" ["step"],
        "1 for the reason of the latest step of the adaptive limit; absent for the other reasons.";
    LimitFailed: Gauge of Both, "limit_failed" "limit_failed" "{limit}",
        "Adaptive limits that have failed, and stay where they are; of a bulkhead, 0 or 1.";
    LimitWindows: Counter of Bulkhead, "limit_windows_total" "limit_windows" "{window}",
        "Windows of calls by which the adaptive limit has judged.";
    LimitMoves: Counter of Bulkhead, "limit_moves_total" "limit_moves" "{move}" ["direction"],
        "How often the adaptive limit has moved, by direction: up or down.";
    LimitCorrections: Counter of Bulkhead, "limit_corrections_total" "limit_corrections" "{correction}" ["cause"],
        "How often the adaptive limit has forgotten what it had learnt, taken a reduction back, or left a standstill out, by cause.";
    BreakerState: Gauge of Breaker, "breaker_state" "breaker.state" "" ["state"],
        "1 for the state that the circuit is in, else 0; it is half-open from the end of the cool-down on.";
    BreakerForced: Gauge of Breaker, "breaker_forced_open" "breaker.forced_open" "",
        "1 while the circuit is open because it was opened by hand, else 0.";
    BreakerConnected: Gauge of Breaker, "breaker_store_connected" "breaker.store_connected" "",
        "1 while the store of a shared circuit is in reach, else 0; absent unless the circuit is shared.";
    BreakerCalls: Counter of Breaker, "breaker_calls_total" "breaker.calls" "{call}" ["outcome"],
        "Calls that were let through and have ended, by outcome; each is counted once.";
    BreakerSlow: Counter of Breaker, "breaker_slow_total" "breaker.slow" "{call}",
        "Of the ended calls, those that were slow by the settings.";
    BreakerStale: Counter of Breaker, "breaker_stale_total" "breaker.stale" "{call}",
        "Of the ended calls, those that changed nothing because the circuit had changed its state meanwhile.";
    BreakerRejected: Counter of Breaker, "breaker_rejected_total" "breaker.rejected" "{call}",
        "Calls that the circuit rejected.";
    BreakerProbes: Counter of Breaker, "breaker_probes_total" "breaker.probes" "{call}",
        "Calls that were let through as probes.";
    BreakerOpened: Counter of Breaker, "breaker_opened_total" "breaker.opened" "{opening}",
        "How often the circuit was opened, also after a probe and by hand.";
    BreakerKeys: Gauge of Breaker, "breaker_keys" "breaker.keys" "{key}" ["state"],
        "Keys with a circuit in this state; absent unless each key has a circuit.";
    BreakerWithoutCircuit: Counter of Breaker, "breaker_without_circuit_total" "breaker.without_circuit" "{request}",
        "Requests without a circuit of their key, for want of room; absent unless each key has a circuit.";
    ShareLimit: Gauge of Share, "share_limit" "share.limit" "{unit}",
        "The limit of the fleet; 0 until the store has answered.";
    ShareGranted: Gauge of Share, "share_granted" "share.granted" "{unit}",
        "Units of the limit that this process can use.";
    ShareProcesses: Gauge of Share, "share_processes" "share.processes" "{process}",
        "Processes that use or need units of the limit.";
    ShareConnected: Gauge of Share, "share_store_connected" "share.store_connected" "",
        "1 while the store answers this process, else 0.";
    ShareQuarantine: Gauge of Share, "share_quarantine_seconds" "share.quarantine" "s",
        "Time for which the store grants no units yet, after a restart or a loss of data; else 0.";
    ShareRefused: Gauge of Share, "share_refused" "share.refused" "",
        "1 while others have declared other values than this process, else 0.";
    ShareLost: Counter of Share, "share_lost_total" "share.lost" "{lease}",
        "Leases that have ended while units were in use.";
    SettingsOutdated: Gauge of Settings, "settings_outdated" "settings.outdated" "",
        "1 while the present text of a followed file of settings is refused, else 0.";
    SettingsApplied: Counter of Settings, "settings_applied_total" "settings.applied" "{text}",
        "Texts of the file that were applied, with that of the start.";
    SettingsRefused: Counter of Settings, "settings_refused_total" "settings.refused" "{text}",
        "Texts of the file that were refused.";
}

impl Id {
    /// Returns the row. The rows are in the order of the ids.
    pub(crate) fn metric(self) -> &'static Metric {
        &NAMES[self as usize]
    }
}

impl Metric {
    /// Returns the name of the metric family in OpenMetrics: a counter's without `_total`.
    #[must_use]
    pub fn family(&self) -> &'static str {
        match self.kind {
            Kind::Counter => self.name.strip_suffix("_total").unwrap_or(self.name),
            Kind::Gauge | Kind::Histogram => self.name,
        }
    }

    /// Returns the unit as the names of Prometheus have it; `None` where a name has none.
    #[must_use]
    pub fn name_unit(&self) -> Option<&'static str> {
        match self.unit {
            "s" => Some("seconds"),
            "1" => Some("ratio"),
            "{call}/s" => Some("per_second"),
            _ => None,
        }
    }
}

impl Kind {
    /// Returns the name of the kind, as Prometheus writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
        }
    }
}
