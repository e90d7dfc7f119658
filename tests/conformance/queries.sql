-- Every stream here is answered by the whole way (site Spark, cube, tree, root Spark) and by one
-- plain Spark over all files; the two must be equal.

CREATE SOURCE hits (
  id BIGINT, ts TIMESTAMP, domain STRING, status INT, bytes BIGINT, latency DOUBLE,
  price DECIMAL(10,2), cached BOOLEAN
) WITH (format = 'csv', path = '*.csv', time = 'ts');

CREATE STREAM q01 AS SELECT window, count(*) AS n FROM hits GROUP BY window(ts, '10 seconds');
CREATE STREAM q02 AS SELECT window, domain, count(*) AS n FROM hits GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM q03 AS SELECT window, domain, sum(bytes) AS b FROM hits GROUP BY window(ts, '1 minute'), domain;
CREATE STREAM q04 AS SELECT window, status, avg(latency) AS l FROM hits GROUP BY window(ts, '1 minute'), status;
CREATE STREAM q05 AS SELECT window, min(latency) AS lo, max(latency) AS hi FROM hits GROUP BY window(ts, '30 seconds');
CREATE STREAM q06 AS SELECT window, count(bytes) AS n, count(status) AS s, count(latency) AS l FROM hits GROUP BY window(ts, '30 seconds');
CREATE STREAM q07 AS SELECT window, sum(price) AS p, avg(price) AS a, min(price) AS lo, max(price) AS hi FROM hits GROUP BY window(ts, '1 minute');
CREATE STREAM q08 AS SELECT window, domain, count(*) AS n FROM hits GROUP BY window(ts, '30 seconds', '10 seconds'), domain;
CREATE STREAM q09 AS SELECT window, avg(bytes) AS a FROM hits GROUP BY window(ts, '60 seconds', '20 seconds');
CREATE STREAM q10 AS SELECT window, domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain ORDER BY n DESC LIMIT 3;
CREATE STREAM q11 AS SELECT window, status, count(*) AS n FROM hits WHERE status >= 400 GROUP BY window(ts, '1 minute'), status;
CREATE STREAM q12 AS SELECT window, domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain HAVING count(*) > 5;
CREATE STREAM q13 AS SELECT window, domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain HAVING n > 5 AND max(latency) > 50;
CREATE STREAM q14 AS SELECT window, upper(domain) AS d, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), upper(domain);
CREATE STREAM q15 AS SELECT window, status DIV 100 AS class, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), status DIV 100;
CREATE STREAM q16 AS SELECT window, sum(bytes * 2) AS b FROM hits WHERE bytes < 1000000 GROUP BY window(ts, '1 minute');
CREATE STREAM q17 AS SELECT window, sum(latency) AS s FROM hits WHERE latency BETWEEN -1000 AND 100000 GROUP BY window(ts, '1 minute');
CREATE STREAM q18 AS SELECT window, cached, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), cached;
CREATE STREAM q19 AS SELECT window, min(domain) AS lo, max(domain) AS hi FROM hits GROUP BY window(ts, '1 minute');
CREATE STREAM q20 AS SELECT window, min(ts) AS first, max(ts) AS last FROM hits GROUP BY window(ts, '1 minute');
CREATE STREAM q21 AS SELECT window, sum(bytes) / count(*) AS mean, max(bytes) - min(bytes) AS spread FROM hits WHERE bytes IS NOT NULL GROUP BY window(ts, '1 minute');
CREATE STREAM q22 AS SELECT window, CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS kind, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END;
CREATE STREAM q23 AS SELECT window.start AS s, window.end AS e, count(*) AS n FROM hits GROUP BY window(ts, '10 seconds');
CREATE STREAM q24 AS SELECT window, latency, count(*) AS n FROM hits WHERE latency IS NOT NULL GROUP BY window(ts, '1 minute'), latency;
CREATE STREAM q25 AS SELECT window, price, status, count(*) AS n FROM hits GROUP BY window(ts, '2 minutes'), price, status;
CREATE STREAM q26 AS SELECT window, domain, avg(latency) AS l FROM hits GROUP BY window(ts, '1 minute'), domain ORDER BY l DESC, domain LIMIT 2;
CREATE STREAM q27 AS SELECT window, count(*) AS n FROM hits WHERE domain LIKE '%.example' GROUP BY window(ts, '7 seconds');
CREATE STREAM q28 AS SELECT window, count(*) AS n FROM hits WHERE domain IN ('example.org', '日本.example') AND NOT cached GROUP BY window(ts, '1 minute');
CREATE STREAM q29 AS SELECT window, id % 7 AS bucket, max(id) AS newest FROM hits GROUP BY window(ts, '1 minute'), id % 7;
CREATE STREAM q30 AS SELECT window, round(avg(price), 1) AS p FROM hits GROUP BY window(ts, '1 minute');
CREATE STREAM q31 AS SELECT window, coalesce(status, 0) AS status, sum(price) AS revenue FROM hits GROUP BY window(ts, '1 minute'), coalesce(status, 0) ORDER BY revenue DESC;
CREATE STREAM q32 AS SELECT window, length(domain) AS len, count(*) AS n, sum(status) AS s FROM hits GROUP BY window(ts, '1 minute'), length(domain);
CREATE STREAM q33 AS SELECT window, count(*) AS n FROM hits WHERE id < 0 GROUP BY window(ts, '1 minute');
CREATE STREAM q34 AS SELECT window, id, count(*) AS n FROM hits GROUP BY window(ts, '1 day'), id;
CREATE STREAM q35 AS SELECT window, avg(status) AS a, sum(cast(latency AS INT)) AS whole FROM hits WHERE latency BETWEEN 0 AND 1000 GROUP BY window(ts, '1 minute');
CREATE STREAM q36 AS SELECT window, domain, min(price) AS lo FROM hits GROUP BY window(ts, '45 seconds', '15 seconds'), domain ORDER BY lo, domain LIMIT 4;
CREATE STREAM q37 AS SELECT window, domain, stddev(price) AS s, var_pop(status) AS v, skewness(id) AS skew, kurtosis(id) AS kurt FROM hits GROUP BY window(ts, '1 minute'), domain;
CREATE STREAM q38 AS SELECT window, round(corr(id, status), 6) AS c, covar_samp(id, price) AS cov, regr_slope(id, status) FILTER (WHERE cached) AS slope FROM hits GROUP BY window(ts, '60 seconds', '20 seconds');
CREATE STREAM q39 AS SELECT window, bit_and(status) AS both, bit_or(id) AS either, bit_xor(id) AS odd FROM hits GROUP BY window(ts, '1 minute');
