CREATE SOURCE access WITH (format = 'apache', path = '*.log');

CREATE STREAM errors WITH (begin = 'earliest') AS
SELECT
  window.start,
  count(*) AS requests,
  count_if(status >= 500) AS failed,
  count_if(status = 404) AS not_found,
  sum(bytes) AS bytes
FROM access
GROUP BY window(ts, '10 minutes');
