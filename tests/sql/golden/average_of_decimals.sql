-- statement
CREATE STREAM prices AS
SELECT avg(price) AS mean
FROM access
GROUP BY window(ts, '10 seconds');

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  CAST(SUM(price) AS DECIMAL(38, 2)) AS sum_1,
  COUNT(price) AS count_2
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1

-- root
SELECT
  `window`,
  CAST(CAST((
    CAST(sum_1 AS DECIMAL(20, 2)) - CAST(sum_1 AS DECIMAL(20, 2)) % CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0))
  ) / CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(9, 0)) + CAST(CAST(CAST(sum_1 AS DECIMAL(20, 2)) % CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(38, 28)) / CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(7, 6)) AS DECIMAL(14, 6)) AS mean
FROM panes

-- central
SELECT
  `window`,
  AVG(price) AS mean
FROM records AS access
GROUP BY
  WINDOW(ts, '10 seconds')
