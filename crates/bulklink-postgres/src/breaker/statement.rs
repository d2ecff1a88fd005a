//! The statements of circuits. Each is a text with expressions that several of them share.

use bulklink_fleet::circuits::encoding::DIFFER;

/// The server's time in microseconds.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// Whether a row is one. Only then its texts may be read.
const VALID: &str = "coalesce(
    c.generation BETWEEN 0 AND {most} AND c.reopened BETWEEN 0 AND 32 AND c.newest BETWEEN 0 AND {most}
    AND c.successes BETWEEN 0 AND 1000000 AND c.failures BETWEEN 0 AND 1000000
    AND (c.state = 'o' OR (c.state IN ('c', 'h') AND c.until IS NULL))
    AND (c.until IS NULL OR c.until BETWEEN 0 AND {most})
    AND (c.settings = '{}' OR (cardinality(c.settings) = 15 AND array_lower(c.settings, 1) = 1
      AND array_ndims(c.settings) = 1 AND array_position(c.settings, NULL) IS NULL
      AND 0 <= ALL (c.settings) AND {most} >= ALL (c.settings) AND c.settings[1] <= 1000000))
    AND c.marks ~ '^[.fsb]*$' AND length(c.marks) <= coalesce(c.settings[1], 0)
    AND CASE WHEN coalesce(c.settings[2], 0) = 0 THEN c.parts = '{}'
      ELSE cardinality(c.parts) = 30 AND array_lower(c.parts, 1) = 1 AND array_ndims(c.parts) = 1
        AND array_position(c.parts, NULL) IS NULL AND 0 <= ALL (c.parts) AND {most_calls} >= ALL (c.parts) END
    AND (c.state = 'h' OR c.probes = '{}')
    AND NOT EXISTS (SELECT FROM unnest(c.probes) AS p WHERE p IS NULL OR p !~ '^[0-9]{16}:[0-9a-f]{16}$'), false)";

/// The cool-down after the probes have failed so often.
const COOL_DOWN_AFTER: &str = "CASE WHEN {reopened} >= 32 THEN {settings}[11]
    ELSE least({settings}[10]::float8 * 2.0 ^ {reopened}, {settings}[11]::float8)::bigint END";

/// The end of a lease that begins now, as it is in a row.
const LEASE_END: &str = "lpad((now + {settings}[15])::text, 16, '0')";

/// What a row shows.
const VIEW: [&str; 10] = [
    "CASE WHEN state = 'c' THEN 0 WHEN state = 'o' AND coalesce(until > now, true) THEN 1 ELSE 2 END::bigint",
    "generation",
    "CASE WHEN state = 'o' AND until > now THEN until - now ELSE -1 END",
    "(state = 'o' AND until IS NULL)::int::bigint",
    "counts.calls",
    "counts.failed",
    "counts.slow",
    "successes::bigint",
    "failures::bigint",
    "CASE WHEN state = 'h' THEN (SELECT count(*) FROM unnest(probes) AS p WHERE left(p, 16)::bigint > now) ELSE 0 END",
];

/// The calls of the window. It is empty unless the circuit is closed.
const COUNTS: &str = "SELECT
    CASE WHEN parts = '{}' THEN length(marks) ELSE {sum 1} END::bigint AS calls,
    CASE WHEN parts = '{}' THEN length(marks) - length(translate(marks, 'fb', '')) ELSE {sum 2} END::bigint AS failed,
    CASE WHEN parts = '{}' THEN length(marks) - length(translate(marks, 'sb', '')) ELSE {sum 0} END::bigint AS slow";

/// The sum of each third number, as far as its part belongs to the window now.
const SUM: &str =
    "(SELECT coalesce(sum(u.part), 0) FROM unnest(parts) WITH ORDINALITY AS u (part, i) WHERE i % 3 = {rest}
      AND i <= 30 - 3 * greatest(now / nullif(settings[2], 0) - newest, 0))";

const LIST: &str = "SELECT name, {view}, coalesce(differed > now - {differ} AND differed < now + {differ}, false)
    FROM (SELECT c.*, {now} AS now FROM bulklink.circuit AS c
    WHERE name COLLATE \"C\" >= $1 AND name COLLATE \"C\" < $2 AND {valid}) AS seen, LATERAL ({counts}) AS counts
    ORDER BY name COLLATE \"C\"";

/// The text of an operation, on a clock.
pub(super) fn operate(now: Option<&str>) -> String {
    filled(include_str!("operate.sql"), now)
}

/// The text that lists the names from `$1` on, up to before `$2`.
pub(super) fn list(now: Option<&str>) -> String {
    filled(LIST, now)
}

fn filled(text: &str, now: Option<&str>) -> String {
    let sums = [0, 1, 2].map(|rest| (format!("{{sum {rest}}}"), SUM.replace("{rest}", &rest.to_string())));
    let counts = sums.iter().fold(COUNTS.to_owned(), |text, (mark, sum)| text.replace(mark, sum));
    let cool_downs = [("reopening.reopened", "mine"), ("circuit.reopened", "mine"), ("c.reopened", "c.settings")];
    let cool_downs = cool_downs.map(|(reopened, settings)| {
        let text = COOL_DOWN_AFTER.replace("{reopened}", reopened).replace("{settings}", settings);
        (format!("{{cool_down_after {reopened} {settings}}}"), text)
    });
    let leases = ["mine", "c.settings"];
    let leases =
        leases.map(|settings| (format!("{{lease_end {settings}}}"), LEASE_END.replace("{settings}", settings)));
    let text = cool_downs.iter().chain(&leases).fold(text.to_owned(), |text, (mark, part)| text.replace(mark, part));
    let zeros = format!("'{{{}}}'::bigint[]", ["0"; 30].join(","));
    [
        ("{valid}", VALID),
        ("{counts}", &counts),
        ("{view}", &VIEW.join(", ")),
        ("{view_text}", &VIEW.join(", ")),
        ("{zeros}", &zeros),
        ("{now}", now.unwrap_or(NOW)),
        ("{differ}", &DIFFER.as_micros().to_string()),
        ("{most_calls}", "1125899906842624"),
        ("{most}", "9007199254740992"),
    ]
    .iter()
    .fold(text, |text, (mark, part)| text.replace(mark, part))
}
