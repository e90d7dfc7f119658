-- statement
CREATE STREAM classes AS
SELECT status DIV 100 AS class, upper(domain), hour(ts) AS hour, max(ms) - min(ms) AS spread
FROM access
GROUP BY window(ts, '1 hour'), class, 2, hour;

-- site
SELECT
  UNIX_MICROS(ts) DIV 3600000000 - CAST(UNIX_MICROS(ts) % 3600000000 < 0 AS BIGINT) AS pane,
  CAST(status DIV 100 AS BIGINT) AS class,
  CAST(UPPER(domain) AS STRING) AS column_2,
  CAST(HOUR(ts) AS INT) AS hour,
  MAX(ms) AS max_1,
  MIN(ms) AS min_2
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1,
  2,
  3,
  4

-- root
SELECT
  `window`,
  class,
  column_2,
  hour,
  max_1 - min_2 AS spread
FROM panes

-- central
SELECT
  `window`,
  status DIV 100 AS class,
  UPPER(domain) AS column_2,
  HOUR(ts) AS hour,
  MAX(ms) - MIN(ms) AS spread
FROM records AS access
GROUP BY
  WINDOW(ts, '1 hour'),
  class,
  UPPER(domain),
  hour
