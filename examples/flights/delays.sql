CREATE SOURCE flights (
  Year          STRING,
  Month         STRING,
  DayofMonth    STRING,
  DepTime       STRING,
  UniqueCarrier STRING,
  Origin        STRING,
  Dest          STRING,
  DepDelay      INT,
  Distance      INT,
  Cancelled     BOOLEAN
) WITH (
  format = 'csv', header = 'true', path = '*.csv', null_value = 'NA',
  time = "to_timestamp(Year || '-' || Month || '-' || DayofMonth || ' ' || DepTime, 'y-M-d HHmm')"
);

CREATE STREAM delays WITH (begin = 'earliest') AS
SELECT
  window.start,
  Origin,
  count(*) AS flights,
  count(DepDelay) AS departed,
  avg(DepDelay) AS mean_delay,
  max(DepDelay) AS worst_delay,
  sum(Distance) AS miles
FROM flights
GROUP BY window(event_time, '1 day'), Origin
ORDER BY Origin;
