"""Write the data and the answers of the examples: ``make_examples.py [NAME …] [--answers]``.

The data comes from seeds and is the same at each run; ``--answers`` also computes the answers, by
one plain Spark over all files. A test holds both against what is in the folders, and the way over
sites, cubes and a root against the answers.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv

from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gallery import logs, records
from gallery.draw import Files

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MADE: dict[str, Callable[[], Files]] = {
    one.__name__: one
    for one in (
        logs.access_apache,
        logs.access_cloudfront,
        logs.access_nginx,
        logs.archives,
        logs.kafka_brokers,
        logs.video_cdn,
        records.flights,
        records.github_events,
        records.honeypots,
        records.package_downloads,
        records.sensors,
        records.wiki_events,
    )
}
"""By the name of the folder."""
ANSWER = "answer.csv"


def folders() -> list[Path]:
    """Of all examples: those that have sites and a question."""
    return sorted(path.parent for path in EXAMPLES.glob("*/sites"))


def question(folder: Path) -> Path:
    (found,) = folder.glob("*.sql")
    return found


def answer_text(results: list[StreamResult]) -> str:
    """All windows of one stream, one after the other; every example asks for the window's start."""
    (result,) = results
    out = io.BytesIO()
    arrow_csv.write_csv(pa.concat_tables(window.rows for window in result.windows), out)
    return out.getvalue().decode()


def write_data(name: str) -> None:
    for path, data in MADE[name]().items():
        (EXAMPLES / name / path).parent.mkdir(parents=True, exist_ok=True)
        (EXAMPLES / name / path).write_bytes(data)


def write_answers(names: list[str]) -> None:
    from headwater.spark.jvm.session import SparkConfig, start_session

    spark = start_session(SparkConfig(is_brief=True))
    try:
        for name in names:
            folder = EXAMPLES / name
            text = question(folder).read_text()
            results = try_central(text, folder / "sites", spark=spark)
            (folder / ANSWER).write_text(answer_text(results))
            print(name, file=sys.stderr)
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--answers", action="store_true")
    given = parser.parse_args()
    names = given.names or [path.name for path in folders()] or sorted(MADE)
    for name in {*names, *([] if given.names else MADE)} & MADE.keys():
        write_data(name)
    if given.answers:
        write_answers(names)


if __name__ == "__main__":
    main()
