-- statement
CREATE STREAM top AS
SELECT domain, sum(bytes) AS total
FROM access
GROUP BY window(ts, '10 seconds'), domain
ORDER BY total DESC, domain
LIMIT 10;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_1
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
  total
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY total DESC, domain) AS __rank
  FROM (
    SELECT
      `window`,
      domain,
      CAST(sum_1 AS BIGINT) AS total
    FROM panes
  )
)
WHERE
  __rank <= 10
ORDER BY
  `window`,
  __rank

-- central
SELECT
  `window`,
  domain,
  total
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY total DESC, domain) AS __rank
  FROM (
    SELECT
      `window`,
      domain,
      SUM(bytes) AS total
    FROM records AS access
    GROUP BY
      WINDOW(ts, '10 seconds'),
      domain
  )
)
WHERE
  __rank <= 10
ORDER BY
  `window`,
  __rank
