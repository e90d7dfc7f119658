-- statement
CREATE STREAM words AS
SELECT domain AS `end`, count(*) AS `select`, max(ok) AS count_1
FROM access
GROUP BY window(ts, '10 seconds'), domain
HAVING `select` > 1;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  COUNT(*) AS count_1_,
  MAX(ok) AS max_2
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1,
  2

-- root
SELECT
  `window`,
  domain AS `end`,
  count_1_ AS `select`,
  max_2 AS count_1
FROM panes
WHERE
  count_1_ > 1

-- central
SELECT
  `window`,
  domain AS `end`,
  COUNT(*) AS `select`,
  MAX(ok) AS count_1
FROM records AS access
GROUP BY
  WINDOW(ts, '10 seconds'),
  domain
HAVING
  `select` > 1
