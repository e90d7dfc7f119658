-- The demo's source and its queries: access logs of a CDN, as every site writes them.
-- Logs grow and rotate: access-1.log becomes access-1.log.000100, and both match the path.

CREATE SOURCE access (
  ts         TIMESTAMP,
  domain     STRING,
  url        STRING,
  status     INT,
  bytes      BIGINT,
  latency_ms DOUBLE,
  client     STRING,
  cache      STRING
) WITH (format = 'csv', path = 'access-*.log*', time = 'ts');

-- The ten busiest domains of every five seconds.
CREATE STREAM top_domains WITH (deadline = '6 seconds', disorder = '1 second') AS
SELECT domain, count(*) AS requests, sum(bytes) AS bytes
FROM access
GROUP BY window(ts, '5 seconds'), domain
ORDER BY requests DESC, domain
LIMIT 10;

-- How each answer and each cache result behaves, over ten seconds, anew every five.
CREATE STREAM quality WITH (deadline = '6 seconds', disorder = '1 second') AS
SELECT
  status, cache,
  count(*) AS requests,
  avg(latency_ms) AS mean_ms,
  max(latency_ms) AS worst_ms,
  sum(CASE WHEN latency_ms > 200 THEN 1 ELSE 0 END) AS slow
FROM access
WHERE bytes >= 0
GROUP BY window(ts, '10 seconds', '5 seconds'), status, cache
HAVING count(*) > 1
ORDER BY status, cache;

-- How often each page was not in a cache, over ten seconds. One site has a narrow line: all that it
-- has to say of a window takes it longer than an answer waits.
CREATE STREAM misses WITH (deadline = '6 seconds', disorder = '1 second') AS
SELECT url, count(*) AS misses
FROM access
WHERE cache <> 'HIT'
GROUP BY window(ts, '10 seconds'), url;

-- The same, nearly: pages with few misses stay at their sites, and the answer says so.
CREATE STREAM misses_soon WITH (deadline = '6 seconds', disorder = '1 second', error = '0.5 % of total') AS
SELECT url, count(*) AS misses
FROM access
WHERE cache <> 'HIT'
GROUP BY window(ts, '10 seconds'), url;
