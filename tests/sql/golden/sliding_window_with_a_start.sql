-- statement
CREATE STREAM slides AS
SELECT max(ms) AS worst
FROM access
GROUP BY window(ts, '30 seconds', '20 seconds', '5 seconds');

-- site
SELECT
  (
    UNIX_MICROS(ts) - 5000000
  ) DIV 10000000 - CAST((
    UNIX_MICROS(ts) - 5000000
  ) % 10000000 < 0 AS BIGINT) AS pane,
  MAX(ms) AS max_1
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1

-- root
SELECT
  `window`,
  max_1 AS worst
FROM panes

-- central
SELECT
  `window`,
  MAX(ms) AS worst
FROM records AS access
GROUP BY
  WINDOW(ts, '30 seconds', '20 seconds', '5 seconds')
