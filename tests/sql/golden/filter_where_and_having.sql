-- statement
CREATE STREAM errors AS
SELECT domain, count(*) FILTER (WHERE status >= 500) AS errors, count_if(NOT ok) AS bad
FROM access
WHERE domain LIKE '%.org' OR bytes > 0
GROUP BY window(ts, '10 seconds'), domain
HAVING errors > 3 AND avg(ms) > 1.5;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  COUNT(*) FILTER(WHERE
    status >= 500) AS count_1,
  COUNT_IF(NOT ok) AS count_2,
  SUM(ms) AS sum_3,
  COUNT(ms) AS count_4
FROM records
WHERE
  NOT ts IS NULL AND (
    domain LIKE '%.org' OR bytes > 0
  )
GROUP BY
  1,
  2

-- root
SELECT
  `window`,
  domain,
  count_1 AS errors,
  count_2 AS bad
FROM panes
WHERE
  count_1 > 3 AND (
    CAST(sum_3 AS DOUBLE) / NULLIF(count_4, 0)
  ) > 1.5

-- central
SELECT
  `window`,
  domain,
  COUNT(*) FILTER(WHERE
    status >= 500) AS errors,
  COUNT_IF(NOT ok) AS bad
FROM records AS access
WHERE
  domain LIKE '%.org' OR bytes > 0
GROUP BY
  WINDOW(ts, '10 seconds'),
  domain
HAVING
  errors > 3 AND AVG(ms) > 1.5
