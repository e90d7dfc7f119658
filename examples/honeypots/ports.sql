CREATE SOURCE attempts (
  unix_ts  BIGINT,
  proto    STRING,
  dst_port INT,
  src_id   STRING,
  country  STRING
) WITH (
  format = 'csv', header = 'true', path = 'attempts.csv',
  time = 'unix_ts', timestamp_format = 'epoch_s'
);

CREATE STREAM ports WITH (begin = 'earliest') AS
SELECT window.start, proto, dst_port, count(*) AS attempts, count(country) AS from_known_countries
FROM attempts
GROUP BY window(unix_ts, '6 hours'), proto, dst_port
ORDER BY attempts DESC, proto, dst_port
LIMIT 5;
