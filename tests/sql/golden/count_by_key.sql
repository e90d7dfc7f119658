-- statement
CREATE STREAM hits AS
SELECT domain, count(*) AS hits
FROM access
GROUP BY window(ts, '10 seconds'), domain;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  COUNT(*) AS count_1
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
  count_1 AS hits
FROM panes

-- central
SELECT
  `window`,
  domain,
  COUNT(*) AS hits
FROM records AS access
GROUP BY
  WINDOW(ts, '10 seconds'),
  domain
