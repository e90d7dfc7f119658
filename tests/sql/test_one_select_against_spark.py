"""WITH, subqueries, ranks and views mean to Spark as they were written what they mean here.

The reference of a stream is written from the one SELECT that its text comes to. So the text itself,
which is plain Spark SQL where it names no LIMIT, is run by Spark and compared with it.
"""

from typing import TYPE_CHECKING, Any

import pytest
from query_kit import queries_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = """
CREATE SOURCE r (ts TIMESTAMP, word STRING, n BIGINT, tags ARRAY<STRING>, sizes MAP<STRING, INT>,
  items ARRAY<STRUCT<sku: STRING, pieces: INT>>)
WITH (format = 'json', path = 'r.json', time = 'ts');
"""
RECORDS = """
SELECT TIMESTAMP '2026-05-01 12:00:00' + make_interval(0, 0, 0, 0, 0, 0, id % 40) AS ts,
  CASE WHEN id % 7 = 0 THEN NULL ELSE substr('abcdef', CAST(id % 5 + 1 AS INT), 1) END AS word,
  CASE WHEN id % 11 = 0 THEN NULL ELSE (id * 37) % 101 END AS n,
  CASE WHEN id % 3 = 0 THEN NULL WHEN id % 3 = 1 THEN array() ELSE
    array(CAST(id % 4 AS STRING), 'x') END AS tags,
  map('a', CAST(id AS INT), 'b', NULL) AS sizes,
  array(struct(CAST(id % 2 AS STRING) AS sku, CAST(id % 3 AS INT) AS pieces)) AS items
FROM range(300)
"""
W = "window(ts, '10 seconds')"
TEXTS = [
    f"WITH a AS (SELECT ts, upper(word) AS w, n + 1 AS m FROM r WHERE n > 20), "
    f"b AS (SELECT * FROM a WHERE w IS NOT NULL) "
    f"SELECT window, w, sum(m) AS s FROM b WHERE m * 2 < 180 GROUP BY {W}, w",
    f"SELECT window, word, c - 1 AS fewer FROM (SELECT {W} AS window, word, count(*) AS c FROM r "
    f"GROUP BY {W}, word HAVING c > 2) AS x WHERE x.c > 4",
    f"SELECT window, word, c FROM (SELECT window, word, count(*) AS c, row_number() OVER "
    f"(PARTITION BY window ORDER BY count(*) DESC, word) AS place FROM r GROUP BY {W}, word) "
    "WHERE place <= 2 AND c > 1",
    f"SELECT window, word, n, rank() OVER (PARTITION BY window, word ORDER BY n DESC) AS place "
    f"FROM (SELECT {W} AS window, word, n FROM r WHERE n % 2 = 0)",
    f"SELECT window, word, n FROM (SELECT {W} AS window, word, n, dense_rank() OVER "
    f"(PARTITION BY {W}, word ORDER BY n) AS d FROM r) WHERE d BETWEEN 2 AND 3 OR word IS NULL",
    f"SELECT {W} AS window, word, tag FROM r LATERAL VIEW OUTER explode(tags) t AS tag",
    f"SELECT window, tag, place, count(*) AS c FROM (SELECT * FROM r WHERE n > 5) "
    f"LATERAL VIEW posexplode(tags) t AS place, tag GROUP BY {W}, tag, place",
    f"SELECT {W} AS window, n, explode(tags) AS tags FROM r WHERE n IS NOT NULL",
    f"SELECT window, key, sum(value) AS s FROM r LATERAL VIEW explode(sizes) AS key, value "
    f"GROUP BY {W}, key",
    f"SELECT DISTINCT window, word FROM (SELECT {W} AS window, * FROM r) WHERE n > 90",
    f"SELECT window, count_if(word LIKE ANY ('a%', '%b')) AS a, count_if(word LIKE ALL ('%', 'c')) "
    f"AS b, count_if(word NOT LIKE ANY ('a', NULL)) AS c, count_if(NOT word LIKE ANY ('a', 'b')) "
    f"AS d, count_if(word NOT ILIKE ALL ('A', 'b', 'C')) AS e, count_if(word LIKE SOME ('d')) AS f "
    f"FROM r GROUP BY {W}, n > 50",
    f"SELECT window, decode(word, 'a', 'first', NULL, 'none', 'other') AS d, decode(n, 1, 2) AS e, "
    f"count(*) AS c FROM r GROUP BY {W}, 2, 3",
    f"SELECT {W} AS window, upper(word) AS w, sum(n) AS s FROM r GROUP BY ALL",
    f"SELECT window, sizes.a AS a, items.sku AS skus, sum(items.pieces[0]) AS p FROM r "
    f"GROUP BY {W}, sizes.a, items.sku",
    f"SELECT window, tag, count(*) AS c FROM r, LATERAL explode(tags) AS t(tag) GROUP BY {W}, tag",
    f"SELECT window, word || n || true AS a, concat(n, DATE '2026-05-01', 1.50BD, ts) AS b FROM r "
    f"GROUP BY {W}, 2, 3",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_means_to_spark_what_the_reference_says(spark: "SparkSession", text: str) -> None:
    (query,) = queries_in(f"{SOURCE} CREATE STREAM s AS {text};", at="hub", begin="earliest")
    spark.sql(RECORDS).createOrReplaceTempView("records")
    spark.table("records").createOrReplaceTempView("r")
    names = ["window", *(column.name for column in query.program.output)]
    found = rows(spark.sql(query.program.central_sql).select(names).collect())
    assert found == rows(spark.sql(text).select(names).collect())
    assert len(found) > 5


def rows(found: list[Any]) -> list[str]:
    return sorted(map(str, found))
