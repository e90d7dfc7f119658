CREATE SOURCE brokers (
  at      TIMESTAMP,
  level   STRING,
  message STRING,
  logger  STRING
) WITH (
  format = 'regex', path = 'server.log*', time = 'at',
  pattern = r'\[([^\]]+)\] (\w+) (.*) \(([\w.$]+)\)',
  timestamp_format = 'yyyy-MM-dd HH:mm:ss,SSS'
);

CREATE STREAM trouble WITH (begin = 'earliest') AS
SELECT window.start, logger, level, count(*) AS lines, count_if(message LIKE '%ISR%') AS isr
FROM brokers
WHERE level <> 'INFO'
GROUP BY window(at, '20 minutes'), logger, level
ORDER BY lines DESC, logger, level;
