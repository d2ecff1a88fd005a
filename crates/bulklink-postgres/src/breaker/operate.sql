-- One operation on one circuit. All that is decided refers to the row that is written, so the
-- server decides again when another process came first.
--
-- `OFFSET 0` keeps a step apart: merged into each other, their expressions would grow without end.
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
  SELECT f.mine, final.state, s.generation + (target IS NOT NULL)::int,
    CASE WHEN target = 'o' AND $3 <> 'open' THEN now + CASE WHEN again.reopened >= 32 THEN f.mine[11]
      ELSE least(f.mine[10]::float8 * 2.0 ^ again.reopened, f.mine[11]::float8)::bigint END
      WHEN target IS NULL THEN s.until END,
    again.reopened,
    CASE WHEN target IS NOT NULL THEN '' WHEN $3 = 'closed' AND applies THEN added.marks ELSE w.marks END,
    CASE WHEN target IS NOT NULL THEN 0 WHEN $3 = 'closed' AND applies THEN added.newest ELSE w.newest END,
    CASE WHEN target IS NOT NULL AND g.part > 0 THEN {zeros}
      WHEN $3 = 'closed' AND applies THEN added.parts ELSE w.parts END,
    CASE WHEN target IS NOT NULL THEN 0 WHEN applies THEN good ELSE s.successes END,
    CASE WHEN target IS NOT NULL THEN 0 WHEN applies THEN bad ELSE s.failures END,
    CASE WHEN is_asked AND (is_known OR waits IS NOT NULL) THEN places
      WHEN is_asked AND taken < f.mine[12] THEN places || fresh
      WHEN is_asked THEN array_remove(places, oldest) || fresh
      WHEN target IS NOT NULL THEN '{}'
      WHEN $3 = 'probe' AND applies THEN ARRAY(SELECT p FROM unnest(s.probes) AS p WHERE right(p, 16) <> $5)
      ELSE s.probes END,
    CASE WHEN $3 = 'load' THEN 1
      WHEN $3 <> 'admit' THEN applies::int
      WHEN final.state = 'c' THEN 1
      WHEN final.state = 'o' OR waits IS NOT NULL THEN 0
      ELSE 2 END
      + 4 * (target IS NOT NULL OR NOT is_valid)::int + 8 * (s.known <> '{}' AND f.mine <> s.known)::int,
    CASE WHEN $3 = 'admit' AND final.state = 'o' THEN s.until - now ELSE waits END,
    CASE WHEN s.known <> '{}' AND f.mine <> s.known THEN now ELSE c.differed END
  FROM (SELECT {now} AS now) AS t
  CROSS JOIN LATERAL (SELECT {valid} AS is_valid OFFSET 0) AS v
  -- The row, or a new one in its place.
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
    CASE WHEN is_valid THEN c.probes ELSE '{}' END AS probes OFFSET 0) AS s
  -- Its window, changed to the settings of the process.
  CROSS JOIN LATERAL (SELECT CASE WHEN $2 <> '{}' THEN $2 ELSE s.known END AS mine OFFSET 0) AS f
  CROSS JOIN LATERAL (SELECT coalesce(f.mine[1], 0)::int AS calls, coalesce(f.mine[2], 0) AS part,
    coalesce(s.known[2], 0) AS had OFFSET 0) AS g
  CROSS JOIN LATERAL (SELECT
    CASE WHEN g.part = 0 AND g.had = 0 THEN right(s.marks, g.calls) ELSE '' END AS marks,
    CASE WHEN g.part = 0 THEN '{}' WHEN g.part = g.had THEN s.parts ELSE {zeros} END AS parts,
    CASE WHEN g.part = g.had THEN s.newest ELSE 0 END AS newest OFFSET 0) AS w
  CROSS JOIN LATERAL (SELECT coalesce(CASE
    WHEN $3 = 'admit' THEN s.state = 'o' AND s.until <= now
    WHEN $3 = 'closed' THEN s.state = 'c' AND s.generation = $4
    WHEN $3 = 'probe' THEN s.state = 'h' AND s.generation = $4
      AND EXISTS (SELECT FROM unnest(s.probes) AS p WHERE right(p, 16) = $5)
    WHEN $3 IN ('open', 'close') THEN $4 IS NULL OR s.generation = $4 END, false) AS applies OFFSET 0) AS a
  -- The window with the outcomes. A clock that steps back counts for the newest part.
  CROSS JOIN LATERAL (SELECT CASE WHEN g.part > 0 THEN greatest(now / nullif(g.part, 0), w.newest) ELSE 0 END
    AS newest OFFSET 0) AS n
  CROSS JOIN LATERAL (SELECT n.newest, right(w.marks || $6, g.calls) AS marks,
    CASE WHEN $3 = 'closed' AND g.part > 0 THEN ARRAY(
      SELECT least(CASE WHEN i <= 3 THEN $7[i] ELSE 0 END + coalesce(w.parts[i - 3 * least(n.newest - w.newest, 10)], 0),
        {most_calls}) FROM generate_series(1, 30) AS i ORDER BY i) ELSE '{}' END AS parts OFFSET 0) AS added
  CROSS JOIN LATERAL (SELECT
    CASE WHEN g.part = 0 THEN length(added.marks)
      ELSE (SELECT sum(part) FROM unnest(added.parts) WITH ORDINALITY AS u (part, i) WHERE i % 3 = 1) END AS calls,
    CASE WHEN g.part = 0 THEN length(added.marks) - length(translate(added.marks, 'fb', ''))
      ELSE (SELECT sum(part) FROM unnest(added.parts) WITH ORDINALITY AS u (part, i) WHERE i % 3 = 2) END AS failed,
    CASE WHEN g.part = 0 THEN length(added.marks) - length(translate(added.marks, 'sb', ''))
      ELSE (SELECT sum(part) FROM unnest(added.parts) WITH ORDINALITY AS u (part, i) WHERE i % 3 = 0) END AS slow OFFSET 0) AS k
  CROSS JOIN LATERAL (SELECT
    (k.failed >= f.mine[3] AND k.failed * 100 >= f.mine[4] * k.calls AND k.calls >= f.mine[5])
    OR (k.slow >= f.mine[6] AND k.slow * 100 >= f.mine[7] * k.calls AND k.calls >= f.mine[8]) AS trips,
    s.successes + ($3 = 'probe' AND $6 = '.')::int AS good,
    s.failures + ($3 = 'probe' AND $6 NOT IN ('', '.'))::int AS bad OFFSET 0) AS o
  CROSS JOIN LATERAL (SELECT CASE WHEN NOT applies THEN NULL
    WHEN $3 = 'admit' THEN 'h'
    WHEN $3 = 'open' THEN 'o'
    WHEN $3 = 'close' THEN 'c'
    WHEN $3 = 'closed' THEN CASE WHEN trips THEN 'o' END
    WHEN $6 = '' THEN NULL
    WHEN bad >= f.mine[14] THEN 'o'
    WHEN good >= f.mine[13] THEN 'c' END AS target OFFSET 0) AS x
  CROSS JOIN LATERAL (SELECT coalesce(target, s.state) AS state OFFSET 0) AS final
  CROSS JOIN LATERAL (SELECT CASE WHEN target = 'c' OR (target = 'o' AND $3 = 'open') THEN 0
    WHEN target = 'o' AND $3 = 'probe' THEN least(s.reopened + 1, 32) ELSE s.reopened END AS reopened OFFSET 0) AS again
  -- The places of probes.
  CROSS JOIN LATERAL (SELECT CASE WHEN target = 'h' THEN '{}' ELSE s.probes END AS places,
    $3 = 'admit' AND final.state = 'h' AS is_asked,
    lpad((now + f.mine[15])::text, 16, '0') || ':' || $5 AS fresh OFFSET 0) AS b
  CROSS JOIN LATERAL (SELECT cardinality(places) AS taken,
    (SELECT min(p COLLATE "C") FROM unnest(places) AS p) AS oldest,
    -- When fewer have a lease than may run: the end of a later one if the settings were changed to fewer.
    (SELECT left(p, 16)::bigint FROM unnest(places) AS p ORDER BY p COLLATE "C"
      OFFSET greatest(cardinality(places) - f.mine[12], 0) LIMIT 1) AS free_at,
    EXISTS (SELECT FROM unnest(places) AS p WHERE right(p, 16) = $5) AS is_known OFFSET 0) AS e
  CROSS JOIN LATERAL (SELECT CASE WHEN is_asked AND NOT is_known AND taken >= f.mine[12]
    AND free_at > now THEN free_at - now END AS waits OFFSET 0) AS r)
-- Nothing is written where nothing changes.
WHERE NOT coalesce({valid} AND ($2 = '{}' OR c.settings = $2) AND ($3 = 'load'
  OR ($3 = 'admit' AND (c.state = 'c' OR (c.state = 'o' AND coalesce(c.until > {now}, true))))), false)
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
FROM seen, LATERAL ({counts}) AS k
