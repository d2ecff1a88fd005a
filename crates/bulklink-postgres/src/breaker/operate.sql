-- One operation on one circuit. All that is decided refers to the row that is written, so the
-- server decides again when another process came first.
--
-- Each step has the name of the function of `Circuit`, `Window`, `Counts` or `Settings` that it
-- mirrors, or of the value that these have. `OFFSET 0` keeps a step apart: merged into each other,
-- their expressions would grow without end.
--
-- $1 name, $2 settings or none, $3 operation, $4 generation or NULL, $5 probe, $6 marks,
-- $7 added calls, failures and slow calls, $8 channel.
-- Settings: calls, part, failures (3), slow (3), slow_after, cool_downs (2), probes (3), lease.
WITH done AS (
INSERT INTO bulklink.circuit AS c
  (name, settings, state, generation, until, reopened, marks, newest, parts, successes, failures, probes, said, rest)
SELECT $1, $2, CASE WHEN forced AND $3 = 'open' THEN 'o' ELSE 'c' END, now + forced::int, NULL, 0, '', 0,
  CASE WHEN $2[2] > 0 THEN {zeros} ELSE '{}' END, 0, 0, '{}',
  CASE WHEN forced THEN 5 WHEN $3 IN ('load', 'admit') THEN 1 ELSE 0 END, NULL
FROM (SELECT {now} AS now, $3 IN ('open', 'close') AND $4 IS NULL AS forced) AS t
ON CONFLICT (name) DO UPDATE SET
  (settings, state, generation, until, reopened, marks, newest, parts, successes, failures, probes, said, rest,
    differed) = (
  SELECT mine, phase.state, circuit.generation + (target IS NOT NULL)::int,
    CASE WHEN target = 'o' AND $3 <> 'open' THEN now + {cool_down_after reopening.reopened mine}
      WHEN target IS NULL THEN follow.until END,
    reopening.reopened,
    CASE WHEN target IS NOT NULL THEN '' WHEN $3 = 'closed' AND applies THEN append.marks ELSE fit.marks END,
    CASE WHEN target IS NOT NULL THEN 0 WHEN $3 = 'closed' AND applies THEN append.newest ELSE fit.newest END,
    CASE WHEN target IS NOT NULL AND span.part > 0 THEN {zeros}
      WHEN $3 = 'closed' AND applies THEN append.parts ELSE fit.parts END,
    CASE WHEN target IS NOT NULL THEN 0 WHEN applies THEN good ELSE circuit.successes END,
    CASE WHEN target IS NOT NULL THEN 0 WHEN applies THEN bad ELSE circuit.failures END,
    CASE WHEN is_asked AND (is_known OR waits IS NOT NULL) THEN places
      WHEN is_asked AND taken < mine[12] THEN places || fresh
      WHEN is_asked THEN array_remove(places, oldest) || fresh
      WHEN target IS NOT NULL THEN '{}'
      WHEN $3 = 'probe' AND applies THEN ARRAY(SELECT p FROM unnest(follow.probes) AS p WHERE right(p, 16) <> $5)
      ELSE follow.probes END,
    CASE WHEN $3 = 'load' THEN 1
      WHEN $3 <> 'admit' THEN applies::int
      WHEN phase.state = 'c' THEN 1
      WHEN phase.state = 'o' OR waits IS NOT NULL THEN 0
      ELSE 2 END
      + 4 * (target IS NOT NULL OR NOT is_valid)::int + 8 * (known <> '{}' AND mine <> known)::int,
    CASE WHEN $3 = 'admit' AND phase.state = 'o' THEN follow.until - now ELSE waits END,
    CASE WHEN known <> '{}' AND mine <> known THEN now ELSE c.differed END
  FROM (SELECT {now} AS now) AS clock
  CROSS JOIN LATERAL (SELECT {valid} AS is_valid OFFSET 0) AS valid
  -- The row, or a new one in its place: `in_generation`.
  CROSS JOIN LATERAL (SELECT
    CASE WHEN is_valid THEN c.settings ELSE '{}' END AS known,
    CASE WHEN is_valid THEN c.state ELSE 'c' END AS state,
    CASE WHEN is_valid THEN c.generation WHEN c.generation BETWEEN 0 AND {most}
      THEN greatest(now, c.generation + 1) ELSE now END AS generation,
    CASE WHEN is_valid THEN c.until END AS until,
    CASE WHEN is_valid THEN c.reopened ELSE 0 END AS reopened,
    CASE WHEN is_valid THEN c.marks ELSE '' END AS marks,
    CASE WHEN is_valid THEN c.newest ELSE 0 END AS newest,
    CASE WHEN is_valid THEN c.parts ELSE '{}' END AS parts,
    CASE WHEN is_valid THEN c.successes ELSE 0 END AS successes,
    CASE WHEN is_valid THEN c.failures ELSE 0 END AS failures,
    CASE WHEN is_valid THEN c.probes ELSE '{}' END AS probes OFFSET 0) AS circuit
  -- Its window, changed to the settings of the process.
  CROSS JOIN LATERAL (SELECT CASE WHEN $2 <> '{}' THEN $2 ELSE known END AS mine OFFSET 0) AS set_settings
  CROSS JOIN LATERAL (SELECT coalesce(mine[1], 0)::int AS calls, coalesce(mine[2], 0) AS part,
    coalesce(known[2], 0) AS had OFFSET 0) AS span
  CROSS JOIN LATERAL (SELECT
    CASE WHEN span.part = 0 AND span.had = 0 THEN right(circuit.marks, span.calls) ELSE '' END AS marks,
    CASE WHEN span.part = 0 THEN '{}' WHEN span.part = span.had THEN circuit.parts ELSE {zeros} END AS parts,
    CASE WHEN span.part = span.had THEN circuit.newest ELSE 0 END AS newest OFFSET 0) AS fit
  -- A clock that was set back: nothing ends later than if it began now.
  CROSS JOIN LATERAL (SELECT
    CASE WHEN circuit.until IS NOT NULL THEN least(circuit.until, now + {cool_down_after circuit.reopened mine}) END
      AS until,
    CASE WHEN circuit.probes = '{}' THEN '{}' ELSE ARRAY(
      SELECT CASE WHEN left(p, 16) COLLATE "C" > {lease_end mine} THEN {lease_end mine} || right(p, 17) ELSE p END
      FROM unnest(circuit.probes) WITH ORDINALITY AS u (p, i) ORDER BY i) END AS probes OFFSET 0) AS follow
  CROSS JOIN LATERAL (SELECT coalesce(CASE
    WHEN $3 = 'admit' THEN circuit.state = 'o' AND follow.until <= now
    WHEN $3 = 'closed' THEN circuit.state = 'c' AND circuit.generation = $4
    WHEN $3 = 'probe' THEN circuit.state = 'h' AND circuit.generation = $4
      AND EXISTS (SELECT FROM unnest(follow.probes) AS p WHERE right(p, 16) = $5)
    WHEN $3 IN ('open', 'close') THEN $4 IS NULL OR circuit.generation = $4 END, false) AS applies OFFSET 0) AS guard
  -- The window with the outcomes. A clock that steps back counts for the newest part, or in a new
  -- window if all would be of the future.
  CROSS JOIN LATERAL (SELECT coalesce(now / nullif(span.part, 0), 0) AS here OFFSET 0) AS present
  CROSS JOIN LATERAL (SELECT
    CASE WHEN span.part = 0 OR fit.newest > here + 10 THEN here ELSE greatest(here, fit.newest) END AS newest,
    CASE WHEN fit.newest > here + 10 THEN 10 ELSE least(greatest(here - fit.newest, 0), 10) END AS passed
    OFFSET 0) AS number
  CROSS JOIN LATERAL (SELECT number.newest, right(fit.marks || $6, span.calls) AS marks,
    CASE WHEN $3 = 'closed' AND span.part > 0 THEN ARRAY(
      SELECT least(CASE WHEN i <= 3 THEN $7[i] ELSE 0 END
        + coalesce(fit.parts[i - 3 * passed], 0), {most_calls})
      FROM generate_series(1, 30) AS i ORDER BY i) ELSE '{}' END AS parts OFFSET 0) AS append
  CROSS JOIN LATERAL (SELECT
    CASE WHEN span.part = 0 THEN length(append.marks)
      ELSE (SELECT sum(part) FROM unnest(append.parts) WITH ORDINALITY AS u (part, i) WHERE i % 3 = 1) END AS calls,
    CASE WHEN span.part = 0 THEN length(append.marks) - length(translate(append.marks, 'fb', ''))
      ELSE (SELECT sum(part) FROM unnest(append.parts) WITH ORDINALITY AS u (part, i) WHERE i % 3 = 2) END AS failed,
    CASE WHEN span.part = 0 THEN length(append.marks) - length(translate(append.marks, 'sb', ''))
      ELSE (SELECT sum(part) FROM unnest(append.parts) WITH ORDINALITY AS u (part, i) WHERE i % 3 = 0) END AS slow
    OFFSET 0) AS counts
  CROSS JOIN LATERAL (SELECT
    (counts.failed >= mine[3] AND counts.failed * 100 >= mine[4] * counts.calls AND counts.calls >= mine[5])
    OR (counts.slow >= mine[6] AND counts.slow * 100 >= mine[7] * counts.calls AND counts.calls >= mine[8]) AS trips,
    circuit.successes + ($3 = 'probe' AND $6 = '.')::int AS good,
    circuit.failures + ($3 = 'probe' AND $6 NOT IN ('', '.'))::int AS bad OFFSET 0) AS trip
  CROSS JOIN LATERAL (SELECT CASE WHEN NOT applies THEN NULL
    WHEN $3 = 'admit' THEN 'h'
    WHEN $3 = 'open' THEN 'o'
    WHEN $3 = 'close' THEN 'c'
    WHEN $3 = 'closed' THEN CASE WHEN trips THEN 'o' END
    WHEN $6 = '' THEN NULL
    WHEN bad >= mine[14] THEN 'o'
    WHEN good >= mine[13] THEN 'c' END AS target OFFSET 0) AS enter
  CROSS JOIN LATERAL (SELECT coalesce(target, circuit.state) AS state OFFSET 0) AS phase
  CROSS JOIN LATERAL (SELECT CASE WHEN target = 'c' OR (target = 'o' AND $3 = 'open') THEN 0
    WHEN target = 'o' AND $3 = 'probe' THEN least(circuit.reopened + 1, 32) ELSE circuit.reopened END AS reopened
    OFFSET 0) AS reopening
  -- The places of probes.
  CROSS JOIN LATERAL (SELECT CASE WHEN target = 'h' THEN '{}' ELSE follow.probes END AS places,
    $3 = 'admit' AND phase.state = 'h' AS is_asked,
    {lease_end mine} || ':' || $5 AS fresh OFFSET 0) AS probe
  CROSS JOIN LATERAL (SELECT cardinality(places) AS taken,
    (SELECT min(p COLLATE "C") FROM unnest(places) AS p) AS oldest,
    -- When fewer have a lease than may run: the end of a later one if the settings were changed to fewer.
    (SELECT left(p, 16)::bigint FROM unnest(places) AS p ORDER BY p COLLATE "C"
      OFFSET greatest(cardinality(places) - mine[12], 0) LIMIT 1) AS free_at,
    EXISTS (SELECT FROM unnest(places) AS p WHERE right(p, 16) = $5) AS is_known OFFSET 0) AS first_free
  CROSS JOIN LATERAL (SELECT CASE WHEN is_asked AND NOT is_known AND taken >= mine[12]
    AND free_at > now THEN free_at - now END AS waits OFFSET 0) AS refusal)
-- Nothing is written where nothing changes.
WHERE NOT coalesce(CASE WHEN {valid} THEN ($2 = '{}' OR c.settings = $2)
  AND ($3 = 'load' OR ($3 = 'admit' AND (c.state = 'c' OR (c.state = 'o' AND coalesce(c.until > {now}, true)))))
  AND NOT coalesce(c.until > {now} + {cool_down_after c.reopened c.settings}, false)
  AND NOT EXISTS (SELECT FROM (SELECT {now} AS now) AS clock, unnest(c.probes) AS p
    WHERE left(p, 16) COLLATE "C" > {lease_end c.settings}) END, false)
RETURNING c.*, {now} AS now),
seen AS (
  SELECT * FROM done
  UNION ALL
  SELECT c.name, c.settings, c.state, c.generation, c.until, c.reopened, c.marks, c.newest, c.parts, c.successes,
    c.failures, c.probes, ($3 = 'load' OR c.state = 'c')::int, CASE WHEN $3 = 'admit' THEN c.until - {now} END,
    c.differed, {now}
  FROM bulklink.circuit AS c WHERE c.name = $1 AND NOT EXISTS (SELECT FROM done)
)
SELECT (said & 3)::bigint, coalesce(rest, -1), ((said & 8) / 8)::bigint, {view},
  CASE WHEN said & 4 > 0 THEN pg_notify($8, concat_ws(' ', name, {view_text}))::text END,
  -- Of this transaction only.
  set_config('synchronous_commit', 'off', true)
FROM seen, LATERAL ({counts}) AS counts
