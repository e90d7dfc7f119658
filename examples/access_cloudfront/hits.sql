CREATE SOURCE edge WITH (format = 'cloudfront', path = '*.log');

CREATE STREAM hits WITH (begin = 'earliest') AS
SELECT
  window.start,
  `x-edge-location` AS location,
  count(*) AS requests,
  count_if(`x-edge-result-type` IN ('Hit', 'RefreshHit')) AS hits,
  sum(`sc-bytes`) AS bytes
FROM edge
GROUP BY window(event_time, '30 minutes'), `x-edge-location`
ORDER BY location;
