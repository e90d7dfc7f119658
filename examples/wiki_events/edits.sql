CREATE SOURCE edits (
  time           TIMESTAMP,
  channel        STRING,
  page           STRING,
  isRobot        BOOLEAN,
  countryIsoCode STRING,
  delta          INT,
  added          INT,
  deleted        INT
) WITH (format = 'json', path = 'edits.json', time = 'time');

CREATE STREAM pages WITH (begin = 'earliest') AS
SELECT
  window.start,
  channel,
  page,
  count(*) AS edits,
  sum(added) AS added,
  sum(deleted) AS deleted,
  count(countryIsoCode) AS from_known_countries
FROM edits
WHERE NOT isRobot
GROUP BY window(time, '1 hour'), channel, page
HAVING count(*) > 2
ORDER BY edits DESC, channel, page;
