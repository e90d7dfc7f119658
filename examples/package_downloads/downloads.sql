CREATE SOURCE downloads (
  date      STRING,
  time      STRING,
  size      BIGINT,
  r_version STRING,
  package   STRING,
  title     STRING,
  country   STRING
) WITH (
  format = 'csv', header = 'true', path = '*.csv', null_value = 'NA', escape = '"',
  time = "to_timestamp(date || ' ' || time)"
);

CREATE STREAM packages WITH (begin = 'earliest') AS
SELECT
  window.start,
  package,
  title,
  count(*) AS downloads,
  sum(size) AS bytes,
  count_if(r_version IS NULL) AS by_other_programs
FROM downloads
GROUP BY window(event_time, '6 hours'), package, title
ORDER BY downloads DESC, package;
