-- statement
CREATE STREAM sizes AS
SELECT domain, sum(bytes) AS total, avg(bytes) AS mean, count(bytes) AS known
FROM access
GROUP BY window(ts, '10 seconds'), domain;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_1,
  COUNT(bytes) AS count_2
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
  CAST(sum_1 AS BIGINT) AS total,
  CAST(sum_1 AS DOUBLE) / NULLIF(count_2, 0) AS mean,
  count_2 AS known
FROM panes

-- central
SELECT
  `window`,
  domain,
  SUM(bytes) AS total,
  AVG(bytes) AS mean,
  COUNT(bytes) AS known
FROM records AS access
GROUP BY
  WINDOW(ts, '10 seconds'),
  domain
