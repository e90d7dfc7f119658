CREATE SOURCE readings (
  received_at TIMESTAMP,
  sensor      STRING,
  measured_at TIMESTAMP,
  celsius     DOUBLE
) WITH (format = 'csv', header = 'true', path = 'readings.csv', time = 'received_at');

CREATE STREAM warmest WITH (begin = 'earliest') AS
SELECT
  window.start,
  sensor,
  count(*) AS readings,
  count(celsius) AS measured,
  max(celsius) AS warmest,
  count_if(abs(unix_seconds(received_at) - unix_seconds(measured_at)) > 60) AS by_a_bad_clock
FROM readings
GROUP BY window(received_at, '1 hour'), sensor
ORDER BY warmest DESC, sensor;
