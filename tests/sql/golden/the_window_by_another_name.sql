-- statement
CREATE STREAM named AS
SELECT window(ts, '10 seconds') AS w, window, count(*) AS n, n * 2 AS twice
FROM access
GROUP BY w
ORDER BY 3;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  COUNT(*) AS count_1
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1

-- root
SELECT
  `window`,
  w,
  n,
  twice
FROM (
  SELECT
    `window`,
    `window` AS w,
    count_1 AS n,
    count_1 * 2 AS twice
  FROM panes
)
ORDER BY
  `window`,
  n,
  w,
  twice

-- central
SELECT
  `window`,
  w,
  n,
  twice
FROM (
  SELECT
    `window`,
    `window` AS w,
    COUNT(*) AS n,
    n * 2 AS twice
  FROM records AS access
  GROUP BY
    WINDOW(ts, '10 seconds')
)
ORDER BY
  `window`,
  n,
  w,
  twice
