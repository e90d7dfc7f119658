CREATE SOURCE edge (
  at       TIMESTAMP,
  location STRING,
  bytes    BIGINT,
  path     STRING,
  status   INT,
  result   STRING
) WITH (
  format = 'regex', path = '*.log', time = 'at',
  pattern = r'(\d{4}-\d\d-\d\d\t\d\d:\d\d:\d\d)\t(\S+)\t(\d+)\t\S+\t\S+\t\S+\t(\S+)\t(\d+)\t\S+\t(\S+)\t.*',
  timestamp_format = "yyyy-MM-dd\tHH:mm:ss"
);

CREATE STREAM hits WITH (begin = 'earliest') AS
SELECT
  window.start,
  location,
  count(*) AS requests,
  count_if(result IN ('Hit', 'RefreshHit')) AS hits,
  sum(bytes) AS bytes
FROM edge
GROUP BY window(at, '30 minutes'), location
ORDER BY location;
