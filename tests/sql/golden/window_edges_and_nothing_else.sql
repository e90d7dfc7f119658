-- statement
CREATE STREAM edges AS
SELECT window.start, window.end
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
  `window`.start AS start,
  `window`.`end` AS `end`
FROM panes

-- central
SELECT
  `window`,
  window.start AS start,
  window.end AS `end`
FROM records AS access
GROUP BY
  WINDOW(ts, '1 minute')
