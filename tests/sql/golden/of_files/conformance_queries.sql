-- q01: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, count_1 AS n FROM panes
-- central
SELECT `window`, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '10 seconds')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '10 seconds') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '10 seconds') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q02: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane, domain, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, count_1 AS n FROM panes
-- central
SELECT `window`, domain, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '10 seconds'), domain
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '10 seconds'), domain HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '10 seconds'), domain HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q03: sum_1 decimal(38,0) sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, domain, SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, CAST(sum_1 AS BIGINT) AS b FROM panes
-- central
SELECT `window`, domain, SUM(bytes) AS b FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), domain
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) = 0) THEN CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT) END AS b FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) > 0) GROUP BY `window`

-- q04: sum_1 double sum, count_2 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, status, SUM(latency) AS sum_1, COUNT(latency) AS count_2 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, status, CAST(sum_1 AS DOUBLE) / NULLIF(count_2, 0) AS l FROM panes
-- central
SELECT `window`, status, AVG(latency) AS l FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), status
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, AVG(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN status END AS status, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, AVG(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN AVG(latency) END AS l FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), status HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, AVG(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, AVG(latency)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), status HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, AVG(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q05: min_1 double min, max_2 double max
-- site
SELECT UNIX_MICROS(ts) DIV 30000000 - CAST(UNIX_MICROS(ts) % 30000000 < 0 AS BIGINT) AS pane, MIN(latency) AS min_1, MAX(latency) AS max_2 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, min_1 AS lo, max_2 AS hi FROM panes
-- central
SELECT `window`, MIN(latency) AS lo, MAX(latency) AS hi FROM records AS hits GROUP BY WINDOW(ts, '30 seconds')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(latency), MAX(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MIN(latency) END AS lo, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(latency), MAX(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MAX(latency) END AS hi FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '30 seconds') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(latency), MAX(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(latency), MAX(latency)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '30 seconds') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(latency), MAX(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q06: count_1 bigint sum, count_2 bigint sum, count_3 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 30000000 - CAST(UNIX_MICROS(ts) % 30000000 < 0 AS BIGINT) AS pane, COUNT(bytes) AS count_1, COUNT(status) AS count_2, COUNT(latency) AS count_3 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, count_1 AS n, count_2 AS s, count_3 AS l FROM panes
-- central
SELECT `window`, COUNT(bytes) AS n, COUNT(status) AS s, COUNT(latency) AS l FROM records AS hits GROUP BY WINDOW(ts, '30 seconds')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(bytes), COUNT(status), COUNT(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(bytes) END AS n, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(bytes), COUNT(status), COUNT(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(status) END AS s, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(bytes), COUNT(status), COUNT(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(latency) END AS l FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '30 seconds') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(bytes), COUNT(status), COUNT(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(bytes), COUNT(status), COUNT(latency)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '30 seconds') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(bytes), COUNT(status), COUNT(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q07: sum_1 decimal(38,2) sum, count_2 bigint sum, min_3 decimal(10,2) min, max_4 decimal(10,2) max
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(SUM(price) AS DECIMAL(38, 2)) AS sum_1, COUNT(price) AS count_2, MIN(price) AS min_3, MAX(price) AS max_4 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, CAST(sum_1 AS DECIMAL(20, 2)) AS p, CAST(CAST((CAST(sum_1 AS DECIMAL(20, 2)) - CAST(sum_1 AS DECIMAL(20, 2)) % CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0))) / CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(9, 0)) + CAST(CAST(CAST(sum_1 AS DECIMAL(20, 2)) % CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(38, 28)) / CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(7, 6)) AS DECIMAL(14, 6)) AS a, min_3 AS lo, max_4 AS hi FROM panes
-- central
SELECT `window`, SUM(price) AS p, AVG(price) AS a, MIN(price) AS lo, MAX(price) AS hi FROM records AS hits GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), TRY_AVG(price), MIN(price), MAX(price)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) + CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) = 0) THEN CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)) END AS p, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), TRY_AVG(price), MIN(price), MAX(price)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) + CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) = 0) THEN TRY_AVG(price) END AS a, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), TRY_AVG(price), MIN(price), MAX(price)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) + CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) = 0) THEN MIN(price) END AS lo, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), TRY_AVG(price), MIN(price), MAX(price)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) + CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) = 0) THEN MAX(price) END AS hi FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), TRY_AVG(price), MIN(price), MAX(price)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) + CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), TRY_AVG(price), MIN(price), MAX(price)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), TRY_AVG(price), MIN(price), MAX(price)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) + CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) > 0) GROUP BY `window`

-- q08: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane, domain, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, count_1 AS n FROM panes
-- central
SELECT `window`, domain, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '30 seconds', '10 seconds'), domain
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '30 seconds', '10 seconds'), domain HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '30 seconds', '10 seconds'), domain HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q09: sum_1 decimal(38,0) sum, count_2 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 20000000 - CAST(UNIX_MICROS(ts) % 20000000 < 0 AS BIGINT) AS pane, SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_1, COUNT(bytes) AS count_2 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, CAST(sum_1 AS DOUBLE) / NULLIF(count_2, 0) AS a FROM panes
-- central
SELECT `window`, AVG(bytes) AS a FROM records AS hits GROUP BY WINDOW(ts, '1 minute', '20 seconds')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN AVG(bytes) END AS a FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute', '20 seconds') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute', '20 seconds') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q10: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, domain, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY n DESC, domain) AS __rank FROM (SELECT `window`, domain, count_1 AS n FROM panes)) WHERE __rank <= 3 ORDER BY `window`, __rank
-- central
SELECT `window`, domain, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY n DESC, domain) AS __rank FROM (SELECT `window`, domain, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), domain)) WHERE __rank <= 3 ORDER BY `window`, __rank
-- central, without groups that fail
SELECT `window`, domain, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY n DESC, domain) AS __rank FROM (SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72'))) WHERE __rank <= 3 ORDER BY `window`, __rank
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q11: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, status, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL AND (status >= 400) GROUP BY 1, 2
-- root
SELECT `window`, status, count_1 AS n FROM panes
-- central
SELECT `window`, status, COUNT(*) AS n FROM records AS hits WHERE status >= 400 GROUP BY WINDOW(ts, '1 minute'), status
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN status END AS status, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL AND (status >= 400) GROUP BY WINDOW(ts, '1 minute'), status HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (status >= 400) GROUP BY WINDOW(ts, '1 minute'), status HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q12: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, domain, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, count_1 AS n FROM panes WHERE count_1 > 5
-- central
SELECT `window`, domain, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), domain HAVING COUNT(*) > 5
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q13: count_1 bigint sum, max_2 double max
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, domain, COUNT(*) AS count_1, MAX(latency) AS max_2 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, count_1 AS n FROM panes WHERE count_1 > 5 AND max_2 > 50
-- central
SELECT `window`, domain, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), domain HAVING n > 5 AND MAX(latency) > 50
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 AND MAX(latency) > 50 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 AND MAX(latency) > 50 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 AND MAX(latency) > 50 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 AND MAX(latency) > 50 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING TRY_TO_BINARY(CASE WHEN COUNT(*) > 5 AND MAX(latency) > 50 THEN CONCAT('k', CAST(XXHASH64(domain, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q14: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(UPPER(domain) AS STRING) AS d, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, d, count_1 AS n FROM panes
-- central
SELECT `window`, UPPER(domain) AS d, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), UPPER(domain)
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(UPPER(domain) AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN CAST(UPPER(domain) AS STRING) END AS d, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(UPPER(domain) AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(UPPER(domain) AS STRING) HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(UPPER(domain) AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(UPPER(domain) AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(UPPER(domain) AS STRING) HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(UPPER(domain) AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q15: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(status DIV 100 AS BIGINT) AS class, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, class, count_1 AS n FROM panes
-- central
SELECT `window`, status DIV 100 AS class, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), status DIV 100
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(status DIV 100 AS BIGINT), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN CAST(status DIV 100 AS BIGINT) END AS class, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(status DIV 100 AS BIGINT), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(status DIV 100 AS BIGINT) HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(status DIV 100 AS BIGINT), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(status DIV 100 AS BIGINT), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(status DIV 100 AS BIGINT) HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(status DIV 100 AS BIGINT), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q16: sum_1 decimal(38,0) sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) AS sum_1 FROM records WHERE NOT ts IS NULL AND (bytes < 1000000) GROUP BY 1
-- root
SELECT `window`, CAST(sum_1 AS BIGINT) AS b FROM panes
-- central
SELECT `window`, SUM(bytes * 2) AS b FROM records AS hits WHERE bytes < 1000000 GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes * 2) > 0 AS INT) = 0) THEN CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) AS BIGINT) END AS b FROM records WHERE NOT ts IS NULL AND (bytes < 1000000) GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes * 2) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (bytes < 1000000) GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_SUM(CAST(bytes * 2 AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes * 2) > 0 AS INT) > 0) GROUP BY `window`

-- q17: sum_1 double sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, SUM(latency) AS sum_1 FROM records WHERE NOT ts IS NULL AND (latency BETWEEN -1000 AND 100000) GROUP BY 1
-- root
SELECT `window`, sum_1 AS s FROM panes
-- central
SELECT `window`, SUM(latency) AS s FROM records AS hits WHERE latency BETWEEN -1000 AND 100000 GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(SUM(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN SUM(latency) END AS s FROM records WHERE NOT ts IS NULL AND (latency BETWEEN -1000 AND 100000) GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(SUM(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(SUM(latency)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (latency BETWEEN -1000 AND 100000) GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(SUM(latency)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q18: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, cached, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, cached, count_1 AS n FROM panes
-- central
SELECT `window`, cached, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), cached
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(cached, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN cached END AS cached, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(cached, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), cached HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(cached, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(cached, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), cached HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(cached, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q19: min_1 string min, max_2 string max
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, MIN(domain) AS min_1, MAX(domain) AS max_2 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, min_1 AS lo, max_2 AS hi FROM panes
-- central
SELECT `window`, MIN(domain) AS lo, MAX(domain) AS hi FROM records AS hits GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(domain), MAX(domain)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MIN(domain) END AS lo, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(domain), MAX(domain)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MAX(domain) END AS hi FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(domain), MAX(domain)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(domain), MAX(domain)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(domain), MAX(domain)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q20: min_1 timestamp min, max_2 timestamp max
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, MIN(ts) AS min_1, MAX(ts) AS max_2 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, min_1 AS `first`, max_2 AS last FROM panes
-- central
SELECT `window`, MIN(ts) AS `first`, MAX(ts) AS last FROM records AS hits GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(ts), MAX(ts)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MIN(ts) END AS `first`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(ts), MAX(ts)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MAX(ts) END AS last FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(ts), MAX(ts)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(ts), MAX(ts)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(MIN(ts), MAX(ts)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q21: sum_1 decimal(38,0) sum, count_2 bigint sum, max_3 bigint max, min_4 bigint min
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_1, COUNT(*) AS count_2, MAX(bytes) AS max_3, MIN(bytes) AS min_4 FROM records WHERE NOT ts IS NULL AND (NOT bytes IS NULL) GROUP BY 1
-- root
SELECT `window`, CAST(sum_1 AS BIGINT) / count_2 AS mean, max_3 - min_4 AS spread FROM panes
-- central
SELECT `window`, SUM(bytes) / COUNT(*) AS mean, MAX(bytes) - MIN(bytes) AS spread FROM records AS hits WHERE NOT bytes IS NULL GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT) / COUNT(*), MAX(bytes) - MIN(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) = 0) THEN CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT) / COUNT(*) END AS mean, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT) / COUNT(*), MAX(bytes) - MIN(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) = 0) THEN MAX(bytes) - MIN(bytes) END AS spread FROM records WHERE NOT ts IS NULL AND (NOT bytes IS NULL) GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT) / COUNT(*), MAX(bytes) - MIN(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT) / COUNT(*), MAX(bytes) - MIN(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (NOT bytes IS NULL) GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) AS BIGINT) / COUNT(*), MAX(bytes) - MIN(bytes)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) IS NULL AND COUNT(bytes) > 0 AS INT) > 0) GROUP BY `window`

-- q22: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING) AS kind, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, kind, count_1 AS n FROM panes
-- central
SELECT `window`, CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS kind, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING) END AS kind, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING) HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING) HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(CASE WHEN status >= 500 THEN 'bad' WHEN status IS NULL THEN 'none' ELSE 'good' END AS STRING), COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q23: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 10000000 - CAST(UNIX_MICROS(ts) % 10000000 < 0 AS BIGINT) AS pane, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, `window`.start AS s, `window`.`end` AS e, count_1 AS n FROM panes
-- central
SELECT `window`, window.start AS s, window.end AS e, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '10 seconds')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(`window`.start, `window`.`end`, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN `window`.start END AS s, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(`window`.start, `window`.`end`, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN `window`.`end` END AS e, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(`window`.start, `window`.`end`, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '10 seconds') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(`window`.start, `window`.`end`, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(`window`.start, `window`.`end`, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '10 seconds') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(`window`.start, `window`.`end`, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q24: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, latency, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL AND (NOT latency IS NULL) GROUP BY 1, 2
-- root
SELECT `window`, latency, count_1 AS n FROM panes
-- central
SELECT `window`, latency, COUNT(*) AS n FROM records AS hits WHERE NOT latency IS NULL GROUP BY WINDOW(ts, '1 minute'), latency
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(latency, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN latency END AS latency, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(latency, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL AND (NOT latency IS NULL) GROUP BY WINDOW(ts, '1 minute'), latency HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(latency, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(latency, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (NOT latency IS NULL) GROUP BY WINDOW(ts, '1 minute'), latency HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(latency, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q25: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 120000000 - CAST(UNIX_MICROS(ts) % 120000000 < 0 AS BIGINT) AS pane, price, status, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2, 3
-- root
SELECT `window`, price, status, count_1 AS n FROM panes
-- central
SELECT `window`, price, status, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '2 minutes'), price, status
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(price, status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN price END AS price, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(price, status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN status END AS status, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(price, status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '2 minutes'), price, status HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(price, status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(price, status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '2 minutes'), price, status HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(price, status, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q26: sum_1 double sum, count_2 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, domain, SUM(latency) AS sum_1, COUNT(latency) AS count_2 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, l FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY l DESC, domain) AS __rank FROM (SELECT `window`, domain, CAST(sum_1 AS DOUBLE) / NULLIF(count_2, 0) AS l FROM panes)) WHERE __rank <= 2 ORDER BY `window`, __rank
-- central
SELECT `window`, domain, l FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY l DESC, domain) AS __rank FROM (SELECT `window`, domain, AVG(latency) AS l FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), domain)) WHERE __rank <= 2 ORDER BY `window`, __rank
-- central, without groups that fail
SELECT `window`, domain, l FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY l DESC, domain) AS __rank FROM (SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, AVG(latency), AVG(latency), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, AVG(latency), AVG(latency), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN AVG(latency) END AS l FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, AVG(latency), AVG(latency), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, AVG(latency), AVG(latency), domain) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72'))) WHERE __rank <= 2 ORDER BY `window`, __rank
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, AVG(latency), AVG(latency), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q27: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 7000000 - CAST(UNIX_MICROS(ts) % 7000000 < 0 AS BIGINT) AS pane, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL AND (domain LIKE '%.example') GROUP BY 1
-- root
SELECT `window`, count_1 AS n FROM panes
-- central
SELECT `window`, COUNT(*) AS n FROM records AS hits WHERE domain LIKE '%.example' GROUP BY WINDOW(ts, '7 seconds')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL AND (domain LIKE '%.example') GROUP BY WINDOW(ts, '7 seconds') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (domain LIKE '%.example') GROUP BY WINDOW(ts, '7 seconds') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q28: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL AND (domain IN ('example.org', '日本.example') AND NOT cached) GROUP BY 1
-- root
SELECT `window`, count_1 AS n FROM panes
-- central
SELECT `window`, COUNT(*) AS n FROM records AS hits WHERE domain IN ('example.org', '日本.example') AND NOT cached GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL AND (domain IN ('example.org', '日本.example') AND NOT cached) GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (domain IN ('example.org', '日本.example') AND NOT cached) GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q29: max_1 bigint max
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(id % 7 AS BIGINT) AS bucket, MAX(id) AS max_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, bucket, max_1 AS newest FROM panes
-- central
SELECT `window`, id % 7 AS bucket, MAX(id) AS newest FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), id % 7
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(id % 7 AS BIGINT), MAX(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN CAST(id % 7 AS BIGINT) END AS bucket, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(id % 7 AS BIGINT), MAX(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MAX(id) END AS newest FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(id % 7 AS BIGINT) HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(id % 7 AS BIGINT), MAX(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(id % 7 AS BIGINT), MAX(id)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(id % 7 AS BIGINT) HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(id % 7 AS BIGINT), MAX(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q30: sum_1 decimal(38,2) sum, count_2 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(SUM(price) AS DECIMAL(38, 2)) AS sum_1, COUNT(price) AS count_2 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, ROUND(CAST(CAST((CAST(sum_1 AS DECIMAL(20, 2)) - CAST(sum_1 AS DECIMAL(20, 2)) % CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0))) / CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(9, 0)) + CAST(CAST(CAST(sum_1 AS DECIMAL(20, 2)) % CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(38, 28)) / CAST(NULLIF(count_2, 0) AS DECIMAL(10, 0)) AS DECIMAL(7, 6)) AS DECIMAL(14, 6)), 1) AS p FROM panes
-- central
SELECT `window`, ROUND(AVG(price), 1) AS p FROM records AS hits GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(TRY_AVG(price), 1)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) = 0) THEN ROUND(TRY_AVG(price), 1) END AS p FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(TRY_AVG(price), 1)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(TRY_AVG(price), 1)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(TRY_AVG(price), 1)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_AVG(price) IS NULL AND COUNT(price) > 0 AS INT) > 0) GROUP BY `window`

-- q31: sum_1 decimal(38,2) sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(COALESCE(status, 0) AS INT) AS status, CAST(SUM(price) AS DECIMAL(38, 2)) AS sum_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, status, revenue FROM (SELECT `window`, status, CAST(sum_1 AS DECIMAL(20, 2)) AS revenue FROM panes) ORDER BY `window`, revenue DESC, status
-- central
SELECT `window`, status, revenue FROM (SELECT `window`, COALESCE(status, 0) AS status, SUM(price) AS revenue FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), COALESCE(status, 0)) ORDER BY `window`, revenue DESC, status
-- central, without groups that fail
SELECT `window`, status, revenue FROM (SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(COALESCE(status, 0) AS INT), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2))) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) = 0) THEN CAST(COALESCE(status, 0) AS INT) END AS status, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(COALESCE(status, 0) AS INT), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2))) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) = 0) THEN CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)) END AS revenue FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(COALESCE(status, 0) AS INT) HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(COALESCE(status, 0) AS INT), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2))) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(COALESCE(status, 0) AS INT), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2))) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')) ORDER BY `window`, revenue DESC, status
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(COALESCE(status, 0) AS INT) HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(COALESCE(status, 0) AS INT), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2)), CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) AS DECIMAL(20, 2))) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_SUM(CAST(price AS DECIMAL(38, 2))) IS NULL AND COUNT(price) > 0 AS INT) > 0) GROUP BY `window`

-- q32: count_1 bigint sum, sum_2 decimal(38,0) sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(LENGTH(domain) AS INT) AS len, COUNT(*) AS count_1, CAST(SUM(status) AS DECIMAL(38, 0)) AS sum_2 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, len, count_1 AS n, CAST(sum_2 AS BIGINT) AS s FROM panes
-- central
SELECT `window`, LENGTH(domain) AS len, COUNT(*) AS n, SUM(status) AS s FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), LENGTH(domain)
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(LENGTH(domain) AS INT), COUNT(*), CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) IS NULL AND COUNT(status) > 0 AS INT) = 0) THEN CAST(LENGTH(domain) AS INT) END AS len, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(LENGTH(domain) AS INT), COUNT(*), CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) IS NULL AND COUNT(status) > 0 AS INT) = 0) THEN COUNT(*) END AS n, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(LENGTH(domain) AS INT), COUNT(*), CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) IS NULL AND COUNT(status) > 0 AS INT) = 0) THEN CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) AS BIGINT) END AS s FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(LENGTH(domain) AS INT) HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(LENGTH(domain) AS INT), COUNT(*), CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) IS NULL AND COUNT(status) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(LENGTH(domain) AS INT), COUNT(*), CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), CAST(LENGTH(domain) AS INT) HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(CAST(LENGTH(domain) AS INT), COUNT(*), CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_SUM(CAST(status AS DECIMAL(38, 0))) IS NULL AND COUNT(status) > 0 AS INT) > 0) GROUP BY `window`

-- q33: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL AND (id < 0) GROUP BY 1
-- root
SELECT `window`, count_1 AS n FROM panes
-- central
SELECT `window`, COUNT(*) AS n FROM records AS hits WHERE id < 0 GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL AND (id < 0) GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (id < 0) GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q34: count_1 bigint sum
-- site
SELECT UNIX_MICROS(ts) DIV 86400000000 - CAST(UNIX_MICROS(ts) % 86400000000 < 0 AS BIGINT) AS pane, id, COUNT(*) AS count_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, id, count_1 AS n FROM panes
-- central
SELECT `window`, id, COUNT(*) AS n FROM records AS hits GROUP BY WINDOW(ts, '1 day'), id
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(id, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN id END AS id, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(id, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COUNT(*) END AS n FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 day'), id HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(id, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(id, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 day'), id HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(id, COUNT(*)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q35: sum_1 decimal(38,0) sum, count_2 bigint sum, sum_3 decimal(38,0) sum
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, CAST(SUM(status) AS DECIMAL(38, 0)) AS sum_1, COUNT(status) AS count_2, CAST(SUM(CAST(latency AS INT)) AS DECIMAL(38, 0)) AS sum_3 FROM records WHERE NOT ts IS NULL AND (latency BETWEEN 0 AND 1000) GROUP BY 1
-- root
SELECT `window`, CAST(sum_1 AS DOUBLE) / NULLIF(count_2, 0) AS a, CAST(sum_3 AS BIGINT) AS whole FROM panes
-- central
SELECT `window`, AVG(status) AS a, SUM(CAST(latency AS INT)) AS whole FROM records AS hits WHERE latency BETWEEN 0 AND 1000 GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(status), CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) IS NULL AND COUNT(CAST(latency AS INT)) > 0 AS INT) = 0) THEN AVG(status) END AS a, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(status), CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) IS NULL AND COUNT(CAST(latency AS INT)) > 0 AS INT) = 0) THEN CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) AS BIGINT) END AS whole FROM records WHERE NOT ts IS NULL AND (latency BETWEEN 0 AND 1000) GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(status), CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) IS NULL AND COUNT(CAST(latency AS INT)) > 0 AS INT) = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(status), CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL AND (latency BETWEEN 0 AND 1000) GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(AVG(status), CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) AS BIGINT)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR CAST(TRY_SUM(CAST(CAST(latency AS INT) AS DECIMAL(38, 0))) IS NULL AND COUNT(CAST(latency AS INT)) > 0 AS INT) > 0) GROUP BY `window`

-- q36: min_1 decimal(10,2) min
-- site
SELECT UNIX_MICROS(ts) DIV 15000000 - CAST(UNIX_MICROS(ts) % 15000000 < 0 AS BIGINT) AS pane, domain, MIN(price) AS min_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, lo FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY lo, domain) AS __rank FROM (SELECT `window`, domain, min_1 AS lo FROM panes)) WHERE __rank <= 4 ORDER BY `window`, __rank
-- central
SELECT `window`, domain, lo FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY lo, domain) AS __rank FROM (SELECT `window`, domain, MIN(price) AS lo FROM records AS hits GROUP BY WINDOW(ts, '45 seconds', '15 seconds'), domain)) WHERE __rank <= 4 ORDER BY `window`, __rank
-- central, without groups that fail
SELECT `window`, domain, lo FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY lo, domain) AS __rank FROM (SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, MIN(price), MIN(price), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, MIN(price), MIN(price), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN MIN(price) END AS lo FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '45 seconds', '15 seconds'), domain HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, MIN(price), MIN(price), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, MIN(price), MIN(price), domain) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72'))) WHERE __rank <= 4 ORDER BY `window`, __rank
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '45 seconds', '15 seconds'), domain HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, MIN(price), MIN(price), domain) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q37: count_1 bigint variance, mean_2 double variance, variance_3 double variance, count_4 bigint variance, mean_5 double variance, variance_6 double variance, count_7 bigint skewness, mean_8 double skewness, variance_9 double skewness, skewness_10 double skewness, count_11 bigint kurtosis, mean_12 double kurtosis, variance_13 double kurtosis, skewness_14 double kurtosis, kurtosis_15 double kurtosis
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, domain, COUNT(price) AS count_1, AVG(CAST(price AS DOUBLE)) AS mean_2, VAR_POP(CAST(price AS DOUBLE)) AS variance_3, COUNT(status) AS count_4, AVG(CAST(status AS DOUBLE)) AS mean_5, VAR_POP(CAST(status AS DOUBLE)) AS variance_6, COUNT(id) AS count_7, AVG(CAST(id AS DOUBLE)) AS mean_8, VAR_POP(CAST(id AS DOUBLE)) AS variance_9, SKEWNESS(CAST(id AS DOUBLE)) AS skewness_10, COUNT(id) AS count_11, AVG(CAST(id AS DOUBLE)) AS mean_12, VAR_POP(CAST(id AS DOUBLE)) AS variance_13, SKEWNESS(CAST(id AS DOUBLE)) AS skewness_14, KURTOSIS(CAST(id AS DOUBLE)) AS kurtosis_15 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2
-- root
SELECT `window`, domain, SQRT(variance_3 * count_1 / NULLIF(count_1 - 1, 0)) AS s, variance_6 AS v, skewness_10 AS skew, kurtosis_15 AS kurt FROM panes
-- central
SELECT `window`, domain, STDDEV(price) AS s, VAR_POP(status) AS v, SKEWNESS(id) AS skew, KURTOSIS(id) AS kurt FROM records AS hits GROUP BY WINDOW(ts, '1 minute'), domain
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN domain END AS domain, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN STDDEV_SAMP(price) END AS s, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN VAR_POP(status) END AS v, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN SKEWNESS(id) END AS skew, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN KURTOSIS(id) END AS kurt FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute'), domain HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(domain, STDDEV_SAMP(price), VAR_POP(status), SKEWNESS(id), KURTOSIS(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q38: regr_count_1 bigint covariance, regr_avgx_2 double covariance, regr_avgy_3 double covariance, regr_sxx_4 double covariance, regr_syy_5 double covariance, regr_sxy_6 double covariance, regr_count_7 bigint covariance, regr_avgx_8 double covariance, regr_avgy_9 double covariance, regr_sxx_10 double covariance, regr_syy_11 double covariance, regr_sxy_12 double covariance, regr_count_13 bigint covariance, regr_avgx_14 double covariance, regr_avgy_15 double covariance, regr_sxx_16 double covariance, regr_syy_17 double covariance, regr_sxy_18 double covariance
-- site
SELECT UNIX_MICROS(ts) DIV 20000000 - CAST(UNIX_MICROS(ts) % 20000000 < 0 AS BIGINT) AS pane, REGR_COUNT(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) AS regr_count_1, REGR_AVGX(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) AS regr_avgx_2, REGR_AVGY(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) AS regr_avgy_3, REGR_SXX(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) AS regr_sxx_4, REGR_SYY(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) AS regr_syy_5, REGR_SXY(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) AS regr_sxy_6, REGR_COUNT(CAST(id AS DOUBLE), CAST(price AS DOUBLE)) AS regr_count_7, REGR_AVGX(CAST(id AS DOUBLE), CAST(price AS DOUBLE)) AS regr_avgx_8, REGR_AVGY(CAST(id AS DOUBLE), CAST(price AS DOUBLE)) AS regr_avgy_9, REGR_SXX(CAST(id AS DOUBLE), CAST(price AS DOUBLE)) AS regr_sxx_10, REGR_SYY(CAST(id AS DOUBLE), CAST(price AS DOUBLE)) AS regr_syy_11, REGR_SXY(CAST(id AS DOUBLE), CAST(price AS DOUBLE)) AS regr_sxy_12, REGR_COUNT(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) FILTER(WHERE cached) AS regr_count_13, REGR_AVGX(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) FILTER(WHERE cached) AS regr_avgx_14, REGR_AVGY(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) FILTER(WHERE cached) AS regr_avgy_15, REGR_SXX(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) FILTER(WHERE cached) AS regr_sxx_16, REGR_SYY(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) FILTER(WHERE cached) AS regr_syy_17, REGR_SXY(CAST(id AS DOUBLE), CAST(status AS DOUBLE)) FILTER(WHERE cached) AS regr_sxy_18 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, ROUND((regr_sxy_6 / NULLIF(SQRT(regr_sxx_4 * regr_syy_5), 0)), 6) AS c, regr_sxy_12 / NULLIF(regr_count_7 - 1, 0) AS cov, regr_sxy_18 / NULLIF(regr_sxx_16, 0) AS slope FROM panes
-- central
SELECT `window`, ROUND(CORR(id, status), 6) AS c, COVAR_SAMP(id, price) AS cov, REGR_SLOPE(id, status) FILTER(WHERE cached) AS slope FROM records AS hits GROUP BY WINDOW(ts, '1 minute', '20 seconds')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(CORR(id, status), 6), COVAR_SAMP(id, price), REGR_SLOPE(id, status) FILTER(WHERE cached)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN ROUND(CORR(id, status), 6) END AS c, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(CORR(id, status), 6), COVAR_SAMP(id, price), REGR_SLOPE(id, status) FILTER(WHERE cached)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN COVAR_SAMP(id, price) END AS cov, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(CORR(id, status), 6), COVAR_SAMP(id, price), REGR_SLOPE(id, status) FILTER(WHERE cached)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN REGR_SLOPE(id, status) FILTER(WHERE cached) END AS slope FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute', '20 seconds') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(CORR(id, status), 6), COVAR_SAMP(id, price), REGR_SLOPE(id, status) FILTER(WHERE cached)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(CORR(id, status), 6), COVAR_SAMP(id, price), REGR_SLOPE(id, status) FILTER(WHERE cached)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute', '20 seconds') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(ROUND(CORR(id, status), 6), COVAR_SAMP(id, price), REGR_SLOPE(id, status) FILTER(WHERE cached)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`

-- q39: bit_and_1 int bit_and, bit_or_2 bigint bit_or, bit_xor_3 bigint bit_xor
-- site
SELECT UNIX_MICROS(ts) DIV 60000000 - CAST(UNIX_MICROS(ts) % 60000000 < 0 AS BIGINT) AS pane, BIT_AND(status) AS bit_and_1, BIT_OR(id) AS bit_or_2, BIT_XOR(id) AS bit_xor_3 FROM records WHERE NOT ts IS NULL GROUP BY 1
-- root
SELECT `window`, bit_and_1 AS both, bit_or_2 AS either, bit_xor_3 AS odd FROM panes
-- central
SELECT `window`, BIT_AND(status) AS both, BIT_OR(id) AS either, BIT_XOR(id) AS odd FROM records AS hits GROUP BY WINDOW(ts, '1 minute')
-- central, without groups that fail
SELECT `window`, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(BIT_AND(status), BIT_OR(id), BIT_XOR(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN BIT_AND(status) END AS both, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(BIT_AND(status), BIT_OR(id), BIT_XOR(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN BIT_OR(id) END AS either, CASE WHEN (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(BIT_AND(status), BIT_OR(id), BIT_XOR(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) THEN BIT_XOR(id) END AS odd FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(BIT_AND(status), BIT_OR(id), BIT_XOR(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NOT NULL AND 0 = 0) AND (TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(BIT_AND(status), BIT_OR(id), BIT_XOR(id)) AS STRING)) ELSE 'r' END, 'utf-8') <> X'72')
-- central, how many groups fail
SELECT `window`, COUNT(*) AS left_out FROM (SELECT `window` FROM records WHERE NOT ts IS NULL GROUP BY WINDOW(ts, '1 minute') HAVING TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64(BIT_AND(status), BIT_OR(id), BIT_XOR(id)) AS STRING)) ELSE 'r' END, 'utf-8') IS NULL OR 0 > 0) GROUP BY `window`
