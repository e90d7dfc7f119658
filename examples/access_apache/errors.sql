CREATE SOURCE access (
  client  STRING,
  ts      TIMESTAMP,
  request STRING,
  status  INT,
  bytes   STRING
) WITH (
  format = 'regex', path = '*.log', time = 'ts',
  pattern = r'(\S+) \S+ \S+ \[([^\]]+)\] "([^"]*)" (\d{3}) (\d+|-) .*',
  timestamp_format = 'dd/MMM/yyyy:HH:mm:ss Z'
);

CREATE STREAM errors WITH (begin = 'earliest') AS
SELECT
  window.start,
  count(*) AS requests,
  count_if(status >= 500) AS failed,
  count_if(status = 404) AS not_found,
  sum(try_cast(bytes AS BIGINT)) AS bytes
FROM access
GROUP BY window(ts, '10 minutes');
