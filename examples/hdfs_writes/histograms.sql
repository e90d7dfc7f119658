-- Block writes of HDFS (iMR, section 5.4.3): for each server a histogram of how long a write took. Buckets are powers
-- of two; a write that is logged twice is counted once by the line that ends it. Nine servers of ten are enough: a
-- histogram has all writes of its server, or is not there.
CREATE SOURCE datanodes (
  ts     TIMESTAMP,
  server STRING,
  event  STRING,
  block  STRING,
  ms     DOUBLE
) WITH (format = 'csv', path = 'datanode.log', time = 'ts');

CREATE STREAM histograms WITH (fidelity = 'sites 90 %') AS
SELECT window.start AS from_, server, CAST(floor(log2(ms + 1)) AS INT) AS bucket, count(*) AS writes
FROM datanodes
WHERE event = 'write_end'
GROUP BY window(ts, '1 hour'), server, CAST(floor(log2(ms + 1)) AS INT);
