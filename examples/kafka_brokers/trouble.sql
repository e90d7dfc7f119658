CREATE SOURCE brokers (
  at      TIMESTAMP,
  level   STRING,
  message STRING,
  logger  STRING,
  trace   STRING
) WITH (
  format = 'regex', path = 'server.log*', time = 'at',
  pattern = r'\[([^\]]+)\] (\w+) ([^\n]*) \(([\w.$]+)\)(?:\n(.*))?',
  record_start = r'\[\d{4}-\d\d-\d\d',
  timestamp_format = 'yyyy-MM-dd HH:mm:ss,SSS'
);

CREATE STREAM trouble WITH (begin = 'earliest') AS
SELECT window.start, logger, level, count(*) AS records, count_if(message LIKE '%ISR%') AS isr,
  count(trace) AS traces, count_if(trace LIKE 'java.io.IOException%') AS io_traces
FROM brokers
WHERE level <> 'INFO'
GROUP BY window(at, '20 minutes'), logger, level
ORDER BY records DESC, logger, level;
