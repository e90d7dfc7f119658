CREATE SOURCE events (
  type       STRING,
  public     BOOLEAN,
  created_at TIMESTAMP,
  repository STRING PATH 'repo.name',
  commits    INT    PATH 'payload.size'
) WITH (format = 'json', path = '*.json', time = 'created_at');

CREATE STREAM busy WITH (begin = 'earliest') AS
SELECT
  window.start,
  repository,
  count(*) AS events,
  count_if(type = 'PushEvent') AS pushes,
  sum(commits) AS commits
FROM events
WHERE public
GROUP BY window(created_at, '15 minutes'), repository
ORDER BY events DESC, repository;
