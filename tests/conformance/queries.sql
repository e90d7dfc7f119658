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

-- Rows, without aggregates.
CREATE STREAM rows_01 WITH (window = '10 seconds') AS SELECT ts, domain, status FROM hits WHERE status >= 500;
CREATE STREAM rows_02 WITH (window = '1 minute') AS SELECT domain, status FROM hits;
CREATE STREAM rows_03 WITH (window = '1 minute every 20 seconds') AS SELECT id, latency, price * 2 AS twice, 1 AS one FROM hits WHERE id % 3 = 0;
CREATE STREAM rows_04 AS SELECT window(ts, '30 seconds'), latency, cached FROM hits;
CREATE STREAM rows_05 WITH (window = '1 minute') AS SELECT window.start AS s, unix_micros(ts) - unix_micros(window.start) AS into_us, domain AS d FROM hits;
CREATE STREAM rows_06 WITH (window = '2 minutes') AS SELECT * FROM hits WHERE cached;
CREATE STREAM rows_07 WITH (window = '1 minute') AS SELECT domain, latency FROM hits ORDER BY latency DESC LIMIT 5;
CREATE STREAM rows_08 WITH (window = '45 seconds every 15 seconds') AS SELECT id, domain FROM hits ORDER BY price NULLS LAST, upper(domain) DESC NULLS FIRST LIMIT 7 OFFSET 3;
CREATE STREAM rows_09 WITH (window = '1 minute') AS SELECT status, cached FROM hits LIMIT 4;
CREATE STREAM rows_10 WITH (window = '1 minute') AS SELECT status, domain, cached FROM hits ORDER BY cached DESC, status OFFSET 2;
CREATE STREAM rows_11 WITH (window = '1 minute') AS SELECT DISTINCT domain, status FROM hits;
CREATE STREAM rows_12 WITH (window = '1 minute every 30 seconds') AS SELECT DISTINCT latency, cached FROM hits ORDER BY latency DESC NULLS FIRST, cached LIMIT 6;
CREATE STREAM rows_13 AS SELECT DISTINCT window, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain;
CREATE STREAM rows_14 WITH (window = '1 minute') AS SELECT domain, count(*) AS n FROM hits GROUP BY domain ORDER BY n DESC LIMIT 2 OFFSET 1;
CREATE STREAM rows_15 WITH (window = '30 seconds') AS SELECT DISTINCT unix_micros(ts) - unix_micros(window.start) > 9000000 AS is_late, domain FROM hits;
-- Nested values, lambdas, parts of times and lengths of time.
CREATE STREAM e01 AS SELECT window, split(domain, '[.]') AS labels, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), split(domain, '[.]');
CREATE STREAM e02 AS SELECT window, struct(status, cached) AS kind, count(*) AS n, named_struct('lo', min(bytes), 'hi', max(bytes)) AS spread FROM hits GROUP BY window(ts, '1 minute'), struct(status, cached) ORDER BY kind LIMIT 5;
CREATE STREAM e03 AS SELECT window, domain, map('n', count(*), 'big', count_if(bytes > 1000)) AS counts, array(min(price), max(price)) AS prices FROM hits GROUP BY window(ts, '1 minute'), domain;
CREATE STREAM e04 AS SELECT window, extract(SECOND FROM ts) AS s, date_part('hour', ts + INTERVAL 90 MINUTES) AS h, count(*) AS n FROM hits GROUP BY window(ts, '30 seconds'), extract(SECOND FROM ts), date_part('hour', ts + INTERVAL 90 MINUTES);
CREATE STREAM e05 AS SELECT window, aggregate(transform(split(domain, ''), c -> ascii(c)), 0, (sum, c) -> sum + c) % 3 AS bucket, max(size(filter(split(domain, ''), c -> c = 'e'))) AS es FROM hits GROUP BY window(ts, '1 minute'), aggregate(transform(split(domain, ''), c -> ascii(c)), 0, (sum, c) -> sum + c) % 3;
CREATE STREAM e06 AS SELECT window, to_json(named_struct('d', domain, 's', status)) AS j, count(*) AS n, timestampdiff(SECOND, min(ts), max(ts)) AS lasting FROM hits WHERE ts - INTERVAL '1' DAY < ts GROUP BY window(ts, '1 minute'), domain, status;
CREATE STREAM e07 AS SELECT window, array(latency, price) AS pair, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), array(latency, price);
CREATE STREAM e08 AS SELECT window, from_json(concat('{"a": ', CAST(status AS STRING), '}'), 'a INT, b ARRAY<STRING>').a AS a, sum(element_at(map('x', bytes), 'x') % 1000) AS b FROM hits GROUP BY window(ts, '1 minute'), 2;
CREATE STREAM q40 AS SELECT window, approx_count_distinct(id) AS n, approx_count_distinct(domain, 0.02) FILTER (WHERE cached) AS d, approx_count_distinct(latency) AS l, approx_count_distinct(price) AS p, count(*) AS c FROM hits GROUP BY window(ts, '60 seconds', '20 seconds');
CREATE STREAM q41 AS SELECT window, status, approx_count_distinct(id) AS n, hll_sketch_estimate(hll_sketch_agg(domain, 8)) AS e FROM hits GROUP BY window(ts, '1 minute'), status HAVING approx_count_distinct(id) > 2 ORDER BY n DESC LIMIT 5;

-- Where records were read: sites name themselves, and are named in WITH.
CREATE STREAM s01 AS SELECT window, site() AS node, sum(bytes % 1000) AS b, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), site();
CREATE STREAM s02 AS SELECT window, upper(site()) AS node, region() AS r, label('tier') AS t, domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), site(), region(), label('tier'), domain HAVING site() <> '' ORDER BY n DESC, node LIMIT 5;
CREATE STREAM s03 WITH (sites = '*, !*1') AS SELECT window, count(*) AS n FROM hits GROUP BY window(ts, '1 minute');
CREATE STREAM g40 AS SELECT window, domain, count(DISTINCT status) AS s, count(*) AS n, sum(bytes) AS b, avg(latency) AS l FROM hits GROUP BY window(ts, '1 minute'), domain;
CREATE STREAM g41 AS SELECT window, count(DISTINCT domain) AS d, count(DISTINCT status, cached) AS sc, sum(DISTINCT bytes) FILTER (WHERE cached) AS b, avg(DISTINCT price) AS p, avg(DISTINCT status) AS a, stddev(price) AS dev, count(*) AS n FROM hits GROUP BY window(ts, '60 seconds', '20 seconds');
CREATE STREAM g42 AS SELECT window, status, count(DISTINCT status) AS one, count(DISTINCT status + id % 2) AS s, count(DISTINCT id % 2 + status) AS t, count(DISTINCT latency) AS l, max(DISTINCT id) AS m FROM hits GROUP BY window(ts, '1 minute'), status HAVING count(DISTINCT id) > 1 ORDER BY count(DISTINCT latency) DESC LIMIT 3;


-- Ranks within a window.
CREATE STREAM ranks_01 AS SELECT window, domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain QUALIFY row_number() OVER (PARTITION BY window ORDER BY n DESC) <= 3;
CREATE STREAM ranks_02 AS SELECT window, cached, domain, sum(bytes) AS b, rank() OVER (PARTITION BY window, cached ORDER BY sum(bytes) DESC NULLS LAST) AS place FROM hits GROUP BY window(ts, '1 minute'), cached, domain;
CREATE STREAM ranks_03 WITH (window = '1 minute every 20 seconds') AS SELECT domain, latency, id FROM hits QUALIFY row_number() OVER (PARTITION BY window, domain ORDER BY latency DESC, price) <= 2;
CREATE STREAM ranks_04 WITH (window = '1 minute') AS SELECT * FROM (SELECT status, price, row_number() OVER (PARTITION BY window, status ORDER BY price DESC NULLS LAST) AS place FROM hits WHERE cached) WHERE place < 4 AND status > 100 ORDER BY place, status LIMIT 5;
CREATE STREAM ranks_05 WITH (window = '1 minute') AS SELECT dense_rank() OVER (PARTITION BY window ORDER BY status) AS d, status, cached FROM hits QUALIFY d BETWEEN 2 AND 3 ORDER BY 1 DESC;
CREATE STREAM ranks_06 AS SELECT window, domain, n FROM (SELECT window, domain, n, row_number() OVER (PARTITION BY window ORDER BY n DESC, domain) AS place FROM (SELECT window, domain, count(*) AS n FROM hits GROUP BY window(ts, '30 seconds', '10 seconds'), domain)) WHERE place = 1;

-- Several records of one.
CREATE STREAM views_01 AS SELECT window, label, count(*) AS n FROM hits LATERAL VIEW explode(split(domain, '[.]')) AS label GROUP BY window(ts, '10 seconds'), label;
CREATE STREAM views_02 WITH (window = '1 minute') AS SELECT status, place, label FROM hits LATERAL VIEW OUTER posexplode(split(domain, '[.]')) l AS place, label WHERE status > 300 ORDER BY l.label DESC LIMIT 6;
CREATE STREAM views_03 AS SELECT window, name, sum(worth) AS s FROM hits LATERAL VIEW inline(array(struct('b' AS name, bytes % 1000 AS worth), struct('s' AS name, CAST(status AS BIGINT) AS worth))) t AS name, worth GROUP BY window(ts, '1 minute'), name;

-- WITH and subqueries.
CREATE STREAM sub_01 AS WITH good AS (SELECT ts, upper(domain) AS d, bytes + 1 AS more FROM hits WHERE status < 400), named AS (SELECT * FROM good WHERE d IS NOT NULL) SELECT d, sum(more) AS b FROM named WHERE more * 2 > 10 GROUP BY window(ts, '1 minute'), d;
CREATE STREAM sub_02 AS SELECT w.start AS since, d, n * 2 AS twice FROM (SELECT window AS w, length(domain) AS d, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), d HAVING n > 1) AS x WHERE x.n > 3 ORDER BY twice DESC, d LIMIT 4;
CREATE STREAM sub_03 WITH (window = '1 minute') AS SELECT DISTINCT kind FROM (SELECT status DIV 100 AS kind, latency FROM hits) WHERE latency > 10;
CREATE STREAM sub_04 AS SELECT avg(x) AS a FROM (SELECT ts AS at, price * 2 AS x, ts FROM hits) GROUP BY window(ts, '1 minute') HAVING max(x) > 0;
CREATE STREAM q42 AS SELECT window, status, percentile_approx(bytes, 0.5, 100) AS p, approx_percentile(id, array(0.1, 0.9), 300) AS q, percentile_approx(ts, 0.5) AS t, percentile_approx(status, 1.0, 50) FILTER (WHERE id < 0) AS none FROM hits GROUP BY window(ts, '60 seconds', '20 seconds'), status;
CREATE STREAM q43 AS SELECT window, status, theta_sketch_estimate(theta_intersection(theta_sketch_agg(domain), theta_sketch_agg(domain) FILTER (WHERE bytes > 100))) AS both, theta_sketch_estimate(theta_sketch_agg(latency, 8)) AS l, kll_sketch_get_n_double(kll_sketch_agg_double(latency)) AS n, approx_top_k(domain, 2) AS top FROM hits GROUP BY window(ts, '1 minute', '20 seconds'), status;

-- Values by others, with ties.
CREATE STREAM by_01 AS SELECT window, domain, max_by(id, latency) AS slowest, min_by(latency, ts) AS first, any_value(status) AS any FROM hits GROUP BY window(ts, '1 minute'), domain;
CREATE STREAM by_02 AS SELECT window, max_by(domain, status) AS d, min_by(price, cached) AS p, max_by(status, domain) FILTER (WHERE cached) AS s, min_by(cached, price) AS c FROM hits GROUP BY window(ts, '60 seconds', '20 seconds');
CREATE STREAM by_03 AS SELECT window, status, upper(any_value(domain)) AS d, max_by(ts, bytes % 7) AS t FROM hits GROUP BY window(ts, '1 minute'), status HAVING max_by(id, bytes % 3) > 10 ORDER BY max_by(domain, latency), status LIMIT 4;

-- Windows of many panes, and sessions.
CREATE STREAM slide1 AS SELECT window, domain, count(*) AS n, sum(bytes) AS b, avg(price) AS p FROM hits GROUP BY window(ts, '2 minutes', '5 seconds'), domain;
CREATE STREAM slide2 AS SELECT window, domain, avg(latency) AS l, max(price) AS most, stddev(price) AS s FROM hits WHERE latency BETWEEN -1000 AND 100000 GROUP BY window(ts, '2 minutes', '5 seconds'), domain;
CREATE STREAM session1 WITH (session_max = '2 minutes') AS SELECT domain, session_window.start, session_window.end AS until, count(*) AS n, sum(bytes) AS b FROM hits WHERE status >= 500 GROUP BY session_window(ts, '5 seconds'), domain ORDER BY n DESC LIMIT 2;
CREATE STREAM session2 WITH (session_max = '1 hour') AS SELECT count(*) AS n, max(latency) AS slowest FROM hits GROUP BY session_window(ts, '1 minute') HAVING count(*) > 1;

-- From a time on.
CREATE STREAM begun WITH (begin = '2026-03-01 12:00:30') AS SELECT window, count(*) AS n FROM hits GROUP BY window(ts, '20 seconds', '10 seconds');
