-- The word count of iMR (USENIX ATC 2011, section 5.4.1): map is explode, combine and reduce are count.
CREATE SOURCE lines (
  ts   TIMESTAMP,
  text STRING
) WITH (format = 'tsv', path = '*.txt', time = 'ts');

CREATE STREAM words AS
SELECT window.start AS from_, word, count(*) AS n
FROM lines LATERAL VIEW explode(split(lower(text), ' +')) AS word
WHERE word <> ''
GROUP BY window(ts, '1 minute'), word;

-- The same of ten minutes, from a fair half of the minutes: their words are never sent, and frequencies stay near.
CREATE STREAM frequent WITH (fidelity = 'area 50 %, random') AS
SELECT window.start AS from_, word, count(*) AS n
FROM lines LATERAL VIEW explode(split(lower(text), ' +')) AS word
WHERE word <> ''
GROUP BY window(ts, '10 minutes', '1 minute'), word;
