-- Seven of the eight questions that JetStream (NSDI 2014, table 2) asks of the logs of a CDN.
CREATE SOURCE requests (
  ts       TIMESTAMP,
  client   STRING,
  url      STRING,
  referrer STRING,
  status   INT,
  bytes    BIGINT,
  ms       INT,
  agent    STRING
) WITH (format = 'tsv', path = 'access*.log', time = 'ts');

-- All requests with a throughput below 10 kB/s: a byte in a millisecond is a kB in a second.
CREATE STREAM slow_requests WITH (window = '5 seconds') AS
SELECT ts, client, url, status, bytes, ms
FROM requests
WHERE bytes < 10 * ms;

-- Counts for each URL and response code.
CREATE STREAM requests_by_url AS
SELECT url, status, count(*) AS requests
FROM requests
GROUP BY window(ts, '5 seconds'), url, status;

-- The fraction of successful responses for each domain.
CREATE STREAM success_by_domain AS
SELECT parse_url(url, 'HOST') AS domain, avg(CAST(status < 400 AS DOUBLE)) AS success
FROM requests
GROUP BY window(ts, '5 seconds'), parse_url(url, 'HOST');

-- Quantiles of the response time for each response code, within 1% of the ranks.
CREATE STREAM quantiles AS
SELECT status, percentile_approx(ms, array(0.5, 0.95, 0.99), 100) AS ms
FROM requests
GROUP BY window(ts, '5 seconds'), status;

-- The ten domains with most requests, every five seconds.
CREATE STREAM top_domains AS
SELECT parse_url(url, 'HOST') AS domain, count(*) AS requests
FROM requests
GROUP BY window(ts, '5 seconds'), parse_url(url, 'HOST')
ORDER BY requests DESC LIMIT 10;

-- The ten domains most responsible for referrals that led to a 404, every five seconds.
CREATE STREAM bad_referrers AS
SELECT parse_url(referrer, 'HOST') AS domain, count(*) AS dead_links
FROM requests
WHERE status = 404
GROUP BY window(ts, '5 seconds'), parse_url(referrer, 'HOST')
ORDER BY dead_links DESC LIMIT 10;

-- The bandwidth that each node has used.
CREATE STREAM bandwidth_by_node AS
SELECT site() AS node, sum(bytes) AS bytes
FROM requests
GROUP BY window(ts, '5 seconds'), site();
