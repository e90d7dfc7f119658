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

-- How often each page was not in lagos's cache, and how many bytes had to be fetched for it. Small
-- pages stay where they are, and the answer says how much that is.
CREATE STREAM misses_soon WITH (deadline = '8 seconds', disorder = '1 second', sites = 'lagos', error = '0.2 % of total') AS
SELECT url, count(*) AS misses, sum(greatest(bytes, 0)) AS bytes
FROM access
WHERE cache <> 'HIT'
GROUP BY window(ts, '10 seconds'), url;

-- The same, all of it: over lagos's narrow line that takes longer than an answer waits.
CREATE STREAM misses WITH (deadline = '8 seconds', disorder = '1 second', sites = 'lagos') AS
SELECT url, count(*) AS misses, sum(greatest(bytes, 0)) AS bytes
FROM access
WHERE cache <> 'HIT'
GROUP BY window(ts, '10 seconds'), url;

-- How often each page was asked for in the two towns of the far south. A site whose line is too
-- narrow for pages sends kinds of pages in their place (/img, /video); pages follow when they fit.
CREATE STREAM pages WITH (deadline = '6 seconds', disorder = '1 second', sites = 'johannesburg, sydney',
  degrade = 'coarsen(url, substring_index(url, "/", 2))', finally = 'exact') AS
SELECT url, count(*) AS requests
FROM access
GROUP BY window(ts, '5 seconds'), url;
