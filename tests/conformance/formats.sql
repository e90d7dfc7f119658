CREATE SOURCE apache WITH (format = 'apache', path = 'apache.log');
CREATE SOURCE nginx (status INT, ts TIMESTAMP, path STRING) WITH (format = 'nginx', path = 'nginx.log');
CREATE SOURCE syslog WITH (format = 'syslog', path = 'syslog.log', year = '2026');
CREATE SOURCE logfmt (at BIGINT, level STRING, msg STRING, ms INT) WITH (
  format = 'logfmt', path = 'logfmt.log', time = 'at', timestamp_format = 'epoch_ms'
);
CREATE SOURCE fixed (day STRING, at STRING, host STRING, n INT) WITH (
  format = 'fixed', path = 'fixed.txt', widths = '10,8,6,4', comment = '#',
  time = "to_utc_timestamp(to_timestamp(day || ' ' || at), 'Europe/Berlin')"
);
CREATE SOURCE nested (
  `@timestamp` STRING, country STRING PATH 'geo.country', geo STRUCT<country: STRING, lat: DOUBLE>,
  first STRING PATH 'tags[0]', tags ARRAY<STRING>, `user-agent` VARCHAR(12), price DECIMAL(8, 2)
) WITH (
  format = 'json', path = 'nested.json', time = '@timestamp',
  timestamp_format = 'dd.MM.yyyy HH:mm:ss | iso', zone = 'Europe/Berlin'
);
CREATE SOURCE pipes (ts TIMESTAMP, `a b` STRING, n BIGINT) WITH (
  format = 'csv', path = 'pipes.csv', delimiter = '||', time = 'ts', timestamp_format = 'seconds'
);
CREATE SOURCE headed (`the name` STRING, n INT, ts TIMESTAMP) WITH (
  format = 'csv', path = 'headed*.csv', header = 'true', time = 'ts'
);
CREATE SOURCE w3c (`cs-uri-stem` STRING, time STRING, `sc-status` INT, date STRING) WITH (
  format = 'w3c', path = 'w3c.log'
);

CREATE STREAM by_apache AS
SELECT method, status, count(*) AS n, sum(bytes) AS bytes, count(agent) AS agents
FROM apache GROUP BY window(ts, '1 minute'), method, status;

CREATE STREAM by_nginx AS
SELECT path, count(*) AS n FROM nginx WHERE status < 400 GROUP BY window(ts, '1 minute'), path;

CREATE STREAM by_syslog AS
SELECT host, app, count(*) AS n, count(pid) AS pids FROM syslog GROUP BY window(ts, '1 minute'), host, app;

CREATE STREAM by_logfmt AS
SELECT level, count(*) AS n, sum(ms) AS ms, max(at) AS newest, max(event_time) AS newest_time
FROM logfmt GROUP BY window(at, '1 minute'), level;

CREATE STREAM by_fixed AS
SELECT host, sum(n) AS n FROM fixed GROUP BY window(event_time, '1 minute'), host;

CREATE STREAM by_nested AS
SELECT country, `user-agent`, count(*) AS n, sum(price) AS `the price`, max(geo.lat) AS lat,
  count_if(geo.country = country) AS same, count(first) AS firsts, count(tags) AS tags
FROM nested GROUP BY window(`@timestamp`, '1 minute'), country, `user-agent`;

CREATE STREAM by_pipes AS
SELECT `a b`, sum(n) AS n FROM pipes GROUP BY window(ts, '1 minute'), `a b`;

CREATE STREAM by_header AS
SELECT `the name`, count(*) AS n, sum(n) AS sum FROM headed GROUP BY window(ts, '1 minute'), `the name`;

CREATE STREAM by_w3c AS
SELECT `cs-uri-stem`, count(*) AS n, sum(`sc-status`) AS statuses
FROM w3c GROUP BY window(event_time, '1 minute'), `cs-uri-stem`;

CREATE STREAM by_tag AS
SELECT tag, place, count(*) AS n FROM nested LATERAL VIEW posexplode(tags) t AS place, tag
WHERE price > 1 GROUP BY window(`@timestamp`, '1 minute'), tag, place;

CREATE STREAM tagged WITH (window = '1 minute') AS
SELECT country, explode(tags) AS tag FROM nested;

CREATE STREAM tags_or_none WITH (window = '1 minute') AS
SELECT price, tag FROM nested LATERAL VIEW OUTER explode(tags) AS tag ORDER BY price, tag DESC LIMIT 5;
