-- statement
CREATE STREAM named AS
SELECT domain AS `user-agent`, sum(bytes) AS `the ``sum```, max(ms) AS `größe.x`
FROM access
GROUP BY window(ts, '10 seconds'), domain
ORDER BY `the ``sum``` DESC
LIMIT 3;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_1,
  MAX(ms) AS max_2
FROM records
WHERE
  NOT ts IS NULL
GROUP BY
  1,
  2

-- root
SELECT
  `window`,
  `user-agent`,
  `the ``sum```,
  `größe.x`
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY `the ``sum``` DESC, `user-agent`, `größe.x`) AS __rank
  FROM (
    SELECT
      `window`,
      domain AS `user-agent`,
      CAST(sum_1 AS BIGINT) AS `the ``sum```,
      max_2 AS `größe.x`
    FROM panes
  )
)
WHERE
  __rank <= 3
ORDER BY
  `window`,
  __rank

-- central
SELECT
  `window`,
  `user-agent`,
  `the ``sum```,
  `größe.x`
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY `the ``sum``` DESC, `user-agent`, `größe.x`) AS __rank
  FROM (
    SELECT
      `window`,
      domain AS `user-agent`,
      SUM(bytes) AS `the ``sum```,
      MAX(ms) AS `größe.x`
    FROM records AS access
    GROUP BY
      WINDOW(ts, '10 seconds'),
      domain
  )
)
WHERE
  __rank <= 3
ORDER BY
  `window`,
  __rank
