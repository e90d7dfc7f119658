"""The gallery's files, as a stranger would meet them: read right without being told anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.local.look.infer_files import infer_files

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

GALLERY = {
    "access_apache": ("apache", ("ts",), ""),
    "access_cloudfront": ("cloudfront", ("date", "time"), "yyyy-MM-dd HH:mm:ss"),
    "access_nginx": ("json", ("time",), ""),
    "archives": ("csv", ("column_1",), ""),
    "flights": ("csv", ("Year", "Month", "DayofMonth", "DepTime"), "y-M-d HHmm"),
    "github_events": ("json", ("created_at",), ""),
    "honeypots": ("csv", ("unix_ts",), "epoch_s"),
    "kafka_brokers": ("regex", ("ts",), "yyyy-MM-dd HH:mm:ss,SSS"),
    "package_downloads": ("csv", ("date", "time"), "yyyy-MM-dd HH:mm:ss"),
    "sensors": ("csv", ("received_at",), ""),
    "shops": ("csv", ("column_1",), ""),
    "wiki_events": ("json", ("time",), ""),
}
"""By the name of the example: the format, the columns of the time, and its pattern."""
THERE = sorted(path.parent.name for path in EXAMPLES.glob("*/sites"))


@pytest.mark.parametrize("name", [name for name in THERE if name in GALLERY])
def test_an_example_is_read_as_it_is_meant(name: str) -> None:
    inferred = infer_files([EXAMPLES / name / "sites"])
    guess = inferred.guess
    assert (guess.format, guess.time.columns, guess.time.pattern) == GALLERY[name]
