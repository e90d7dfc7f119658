-- statement
CREATE STREAM some AS
SELECT domain, bool_or(ok) AS any_ok
FROM access
GROUP BY window(ts, '10 seconds'), domain
LIMIT 5;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  BOOL_OR(ok) AS bool_or_1
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1,
  2

-- root
SELECT
  `window`,
  domain,
  any_ok
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY domain, any_ok) AS __rank
  FROM (
    SELECT
      `window`,
      domain,
      bool_or_1 AS any_ok
    FROM panes
  )
)
WHERE
  __rank <= 5
ORDER BY
  `window`,
  __rank

-- central
SELECT
  `window`,
  domain,
  any_ok
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY domain, any_ok) AS __rank
  FROM (
    SELECT
      `window`,
      domain,
      BOOL_OR(ok) AS any_ok
    FROM records AS access
    GROUP BY
      WINDOW(ts, '10 seconds'),
      domain
  )
)
WHERE
  __rank <= 5
ORDER BY
  `window`,
  __rank
