-- statement
CREATE STREAM sums AS
SELECT sum(status) AS s, sum(bytes) AS b, sum(ms) AS m, sum(price) AS p
FROM access
GROUP BY window(ts, '10 seconds');

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  CAST(SUM(status) AS DECIMAL(38, 0)) AS sum_1,
  SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_2,
  SUM(ms) AS sum_3,
  CAST(SUM(price) AS DECIMAL(38, 2)) AS sum_4
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1

-- root
SELECT
  `window`,
  CAST(sum_1 AS BIGINT) AS s,
  CAST(sum_2 AS BIGINT) AS b,
  sum_3 AS m,
  CAST(sum_4 AS DECIMAL(20, 2)) AS p
FROM panes

-- central
SELECT
  `window`,
  SUM(status) AS s,
  SUM(bytes) AS b,
  SUM(ms) AS m,
  SUM(price) AS p
FROM records AS access
GROUP BY
  WINDOW(ts, '10 seconds')
