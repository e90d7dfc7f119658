-- Sessions of users over all servers (iMR, section 5.4.2): a session ends with half an hour without a click, wherever
-- the clicks were served. An answer is enough with four servers of five in every pane: a user is mostly served by one
-- of them, so what is in is whole sessions.
CREATE SOURCE clicks (
  ts   TIMESTAMP,
  user STRING,
  page STRING
) WITH (format = 'csv', path = 'clicks.csv', time = 'ts');

CREATE STREAM sessions WITH (session_max = '6 hours', fidelity = 'sites 80 %') AS
SELECT user, session_window.start AS from_, count(*) AS clicks,
  CAST(max(unix_timestamp(ts)) - min(unix_timestamp(ts)) AS BIGINT) AS seconds
FROM clicks
GROUP BY session_window(ts, '30 minutes'), user;
