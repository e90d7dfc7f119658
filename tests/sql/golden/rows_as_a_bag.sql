-- statement
CREATE STREAM errors WITH (window = '10 seconds') AS
SELECT ts, domain, bytes + 1 AS more
FROM access
WHERE status >= 500;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  ts,
  domain,
  CAST(bytes + 1 AS BIGINT) AS more,
  COUNT(*) AS count_1
FROM records
WHERE
  NOT ts IS NULL AND (
    status >= 500
  )
GROUP BY
  1,
  2,
  3,
  4

-- root
SELECT
  `window`,
  ts,
  domain,
  more
FROM (
  SELECT
    *,
    EXPLODE(ARRAY_REPEAT(0, CAST(__copies AS INT))) AS __copy
  FROM (
    SELECT
      `window`,
      ts,
      domain,
      more,
      count_1 AS __copies
    FROM panes
  )
)

-- central
SELECT
  `window`,
  ts,
  domain,
  bytes + 1 AS more
FROM (
  SELECT
    WINDOW(ts, '10 seconds') AS `window`,
    *
  FROM records
) AS access
WHERE
  status >= 500
