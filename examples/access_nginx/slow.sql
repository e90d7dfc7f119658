CREATE SOURCE access (
  time            TIMESTAMP,
  host            STRING,
  request         STRING,
  status          INT,
  body_bytes_sent BIGINT,
  request_time    DOUBLE,
  upstream        STRING
) WITH (format = 'json', path = '*.json', time = 'time');

CREATE STREAM slow WITH (begin = 'earliest') AS
SELECT
  window.start,
  host,
  count(*) AS requests,
  count_if(upstream IS NULL) AS cached,
  max(request_time) AS slowest_s,
  count_if(request_time > 0.2) AS slow
FROM access
GROUP BY window(time, '15 minutes'), host
ORDER BY slow DESC, host;
