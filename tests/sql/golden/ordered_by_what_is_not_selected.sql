-- statement
CREATE STREAM busy AS
SELECT domain, min(ms) AS best
FROM access AS a
GROUP BY window(a.ts, '10 seconds'), a.domain
ORDER BY count(*) DESC NULLS FIRST, upper(a.domain)
LIMIT 3;

-- site
SELECT
  UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane,
  domain,
  MIN(ms) AS min_1,
  COUNT(*) AS count_2
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
  best
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (
      PARTITION BY `window`
      ORDER BY __order_1 DESC NULLS FIRST, __order_2, domain, best
    ) AS __rank
  FROM (
    SELECT
      `window`,
      domain,
      min_1 AS best,
      count_2 AS __order_1,
      UPPER(domain) AS __order_2
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
  domain,
  best
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (
      PARTITION BY `window`
      ORDER BY __order_1 DESC NULLS FIRST, __order_2, domain, best
    ) AS __rank
  FROM (
    SELECT
      `window`,
      domain,
      MIN(ms) AS best,
      COUNT(*) AS __order_1,
      UPPER(a.domain) AS __order_2
    FROM records AS a
    GROUP BY
      WINDOW(ts, '10 seconds'),
      a.domain
  )
)
WHERE
  __rank <= 3
ORDER BY
  `window`,
  __rank
