CREATE SOURCE segments (
  at_ms     BIGINT,
  video     STRING,
  rendition STRING,
  segment   INT,
  cache     STRING,
  bytes     BIGINT,
  ms        INT,
  origin    STRING
) WITH (
  format = 'tsv', path = 'edge-*.tsv', null_value = '-',
  time = 'at_ms', timestamp_format = 'epoch_ms'
);

CREATE STREAM renditions WITH (begin = 'earliest') AS
SELECT
  window.start,
  rendition,
  count(*) AS segments,
  sum(bytes) AS traffic,
  count(origin) AS from_origin,
  avg(ms) AS mean_ms
FROM segments
GROUP BY window(at_ms, '10 minutes'), rendition
ORDER BY traffic DESC;
