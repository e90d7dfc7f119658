-- statement
CREATE STREAM largest WITH (window = '1 minute every 20 seconds') AS
SELECT domain, window.start AS since
FROM access
ORDER BY bytes DESC NULLS FIRST
LIMIT 10 OFFSET 5;

-- site
SELECT
  UNIX_MICROS(ts) DIV 20000000 - CAST(UNIX_MICROS(ts) % 20000000 < 0 AS BIGINT) AS pane,
  domain,
  bytes,
  COUNT(*) AS count_1
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
  since
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY __order_1 DESC NULLS FIRST, domain, since) AS __rank
  FROM (
    SELECT
      *,
      EXPLODE(ARRAY_REPEAT(0, CAST(LEAST(__copies, 15) AS INT))) AS __copy
    FROM (
      SELECT
        `window`,
        domain,
        `window`.start AS since,
        bytes AS __order_1,
        count_1 AS __copies
      FROM panes
    )
  )
)
WHERE
  __rank > 5 AND __rank <= 15
ORDER BY
  `window`,
  __rank

-- central
SELECT
  `window`,
  domain,
  since
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY __order_1 DESC NULLS FIRST, domain, since) AS __rank
  FROM (
    SELECT
      `window`,
      domain,
      window.start AS since,
      bytes AS __order_1
    FROM (
      SELECT
        WINDOW(ts, '1 minute', '20 seconds') AS `window`,
        *
      FROM records
    ) AS access
  )
)
WHERE
  __rank > 5 AND __rank <= 15
ORDER BY
  `window`,
  __rank
