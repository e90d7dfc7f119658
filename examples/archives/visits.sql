CREATE SOURCE visits (
  at      TIMESTAMP,
  page    STRING,
  seconds INT
) WITH (format = 'csv', path = 'visits.csv*', time = 'at');

CREATE STREAM days WITH (begin = 'earliest') AS
SELECT window.start, count(*) AS visits, sum(seconds) AS seconds, max(seconds) AS longest
FROM visits
GROUP BY window(at, '1 day');
