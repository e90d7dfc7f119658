-- statement
CREATE STREAM kinds WITH (window = '10 seconds') AS
SELECT DISTINCT domain, status
FROM access;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  status
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1,
  2,
  3

-- root
SELECT
  `window`,
  domain,
  status
FROM panes

-- central
SELECT DISTINCT
  `window`,
  domain,
  status
FROM (
  SELECT
    WINDOW(ts, '10 seconds') AS `window`,
    *
  FROM records
) AS access
