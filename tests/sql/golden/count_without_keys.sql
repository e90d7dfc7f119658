-- statement
CREATE STREAM hits AS
SELECT count(*) AS hits
FROM access
GROUP BY window(ts, '1 minute');

-- site
SELECT
  UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane,
  COUNT(*) AS count_1
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1

-- root
SELECT
  `window`,
  count_1 AS hits
FROM panes

-- central
SELECT
  `window`,
  COUNT(*) AS hits
FROM records AS access
GROUP BY
  WINDOW(ts, '1 minute')
