CREATE SOURCE events (
  id         STRING,
  type       STRING,
  public     BOOLEAN,
  created_at TIMESTAMP
) WITH (format = 'json', path = '*.json', time = 'created_at');

CREATE STREAM kinds WITH (begin = 'earliest') AS
SELECT window.start, type, count(*) AS events, max(id) AS newest
FROM events
WHERE public
GROUP BY window(created_at, '15 minutes'), type
ORDER BY events DESC, type;
