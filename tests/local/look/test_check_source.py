"""What the files of a source give, by Spark: counts, times, and how far records lie behind."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.errors import ConfigurationError
from headwater.local.look.check_source import check_folders, sources_of

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

SQL = """
CREATE SOURCE hits (ts TIMESTAMP, n INT) WITH (format = 'csv', path = '*.csv*', time = 'ts');
"""


def test_a_file_without_a_source_is_refused() -> None:
    text = (
        f"{SQL} CREATE STREAM s AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '1 minute');"
    )
    assert [source.name for source in sources_of(text)] == ["hits"]
    stream = text.partition(";")[2]
    with pytest.raises(ConfigurationError, match="no CREATE SOURCE in the file"):
        sources_of(stream)


def line(second: int, value: object = 1) -> str:
    return f"2026-05-01T12:{second // 60:02d}:{second % 60:02d}Z,{value}\n"


@pytest.mark.spark
def test_each_site_s_files_are_counted_and_their_disorder_is_measured(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    """``ordered`` has two files whose times overlap: each is in order by itself. In ``behind`` 10
    of 1,010 records are 40 s behind and one is 300 s, more than one in a thousand."""
    for site in ("ordered", "behind", "nothing", "broken"):
        (tmp_path / site).mkdir()
    ordered = "".join(line(second) for second in range(100))
    (tmp_path / "ordered" / "a.csv").write_text(ordered)
    (tmp_path / "ordered" / "b.csv.gz").write_bytes(gzip.compress(ordered.encode()))
    late = [line(second) for second in range(1000)]
    late += [line(999 - 40)] * 10
    late.insert(500, line(499 - 300))
    (tmp_path / "behind" / "a.csv").write_text("".join(late))
    (tmp_path / "broken" / "a.csv").write_text(line(1) + "nonsense\n" + line(2, "x") + "\n")
    (tmp_path / "broken" / "b.csv.zip").write_bytes(b"PK")
    (tmp_path / "broken" / "c.csv").touch()

    (source,) = sources_of(SQL)
    folders = {path.name: path for path in sorted(tmp_path.iterdir())}
    gives = {one.site: one for one in check_folders(source, folders, running_spark)}

    found = gives["ordered"].found
    assert (gives["ordered"].files, found.lines, found.malformed) == (2, 200, 0)
    assert (found.behind, found.behind_us_max, gives["ordered"].disorder) == (0, 0, "0s")
    assert found.first_us is not None
    assert found.last_us == found.first_us + 99_000_000

    found = gives["behind"].found
    assert (found.lines, found.behind) == (1011, 11)
    assert (found.behind_us, found.behind_us_max) == (40_000_000, 300_000_000)
    assert gives["behind"].disorder == "1 minute"

    found = gives["broken"].found
    assert (gives["broken"].files, gives["broken"].empty) == (2, 1)
    assert (found.lines, found.malformed) == (3, 2)
    assert [(kind.lines, kind.came) for kind in found.why] == [(1, "x"), (1, None)]
    assert found.why[0].reason == "n: wanted int"
    assert gives["ordered"].found.why == ()
    assert list(gives["broken"].left_alone) == ["b.csv.zip"]

    assert (gives["nothing"].files, gives["nothing"].found.lines) == (0, 0)
    assert gives["nothing"].disorder == ""


@pytest.mark.spark
def test_a_trace_is_of_the_record_before_it(running_spark: RunningSpark, tmp_path: Path) -> None:
    """Each record is one, in its own place: none lies behind another."""
    (source,) = sources_of(
        "CREATE SOURCE said (ts TIMESTAMP, what STRING) WITH (format = 'regex', path = '*.log', "
        r"time = 'ts', pattern = r'(\S+) (.*)', record_start = r'\d{4}-');"
    )
    (tmp_path / "a").mkdir()
    trace = "java.io.IOException: 2026\n\tat a.B.c(B.java:1)\n\n\t... 3 more\n"
    log = "".join(f"2026-05-01T12:00:{n % 60:02d}Z x\n{trace * (n % 3)}" for n in range(60))
    (tmp_path / "a" / "a.log").write_text(log)
    (gives,) = check_folders(source, {"a": tmp_path / "a"}, running_spark)
    assert (gives.found.lines, gives.found.malformed, gives.found.behind) == (60, 0, 0)
