"""Each format through the whole way, at two sites with broken lines among the good ones: the same
answers as by one plain Spark, and as many records as were written."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult
from headwater.local.trial.try_query import try_query
from headwater.sql.compile import parse_script

TEXT = Path(__file__).with_name("formats.sql").read_text(encoding="utf-8")
NAMES = [stream.name for stream in parse_script(TEXT).streams]
SITES = {"porto": 60, "quito": 25}
BEGIN = datetime(2026, 5, 1, 11, 58, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")

pytestmark = pytest.mark.spark


def _access(at: datetime, chance: random.Random) -> str:
    request = chance.choice(["GET /a HTTP/1.1", "POST /b?x=%20 HTTP/2", "-", "\\x16\\x03"])
    size, agent = chance.choice(["-", "17", "2326"]), chance.choice(['"-" "curl/8"', '"-" "-"'])
    stamp = at.strftime("%d/%b/%Y:%H:%M:%S +0000")
    return f'10.0.0.{chance.randint(1, 9)} - - [{stamp}] "{request}" 200 {size} {agent}'


def _syslog(at: datetime, chance: random.Random) -> str:
    app = chance.choice(["sshd[77]", "cron"])
    if chance.random() < 0.5:
        return f"<34>{at.strftime('%b')} {at.day:2d} {at:%H:%M:%S} web {app}: it: happened"
    return f"<34>1 {at.isoformat()} web {app.partition('[')[0]} - ID1 - it happened"


def _logfmt(at: datetime, chance: random.Random) -> str:
    ms = round(at.timestamp() * 1000)
    level, took = chance.choice(["info", "warn"]), chance.randint(0, 9)
    return f'level={level} msg="a ms=9 \\"b\\"" at={ms} ms={took}'


def _fixed(at: datetime, chance: random.Random) -> str:
    stamp = at.strftime("%Y-%m-%d%H:%M:%S")
    return f"{stamp}{chance.choice(['web', 'dbä']):6}{chance.randint(0, 99):4}"


def _nested(at: datetime, chance: random.Random) -> str:
    local = at.astimezone(BERLIN)
    stamp = chance.choice([local.strftime("%d.%m.%Y %H:%M:%S"), at.isoformat()])
    record: dict[str, object] = {"@timestamp": stamp, "user-agent": chance.choice(["a`b", "ö"])}
    if chance.random() < 0.8:
        record["geo"] = {"country": chance.choice(["NO", "PT"]), "lat": chance.random()}
    if chance.random() < 0.5:
        record["tags"] = ["x", "y"]
    return json.dumps({**record, "price": f"{chance.randint(0, 999) / 100:.2f}"})


def _pipes(at: datetime, chance: random.Random) -> str:
    return f"{at.timestamp():.3f}||{chance.choice(['x|y', '', 'z'])}||{chance.randint(0, 9)}"


def _headed(at: datetime, chance: random.Random) -> str:
    return f'"{chance.choice(["a, b", "c"])}",{at.isoformat()},more,{chance.randint(0, 9)}'


def _headed_otherwise(at: datetime, chance: random.Random) -> str:
    return f"{chance.randint(0, 9)},{at.isoformat()},c"


def _w3c(at: datetime, chance: random.Random) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} {chance.choice(['/a', '-'])} {chance.choice([200, 404])}"


HEADERS = {
    "headed-1.csv": "The Name,ts,x,n",
    "headed-2.csv": "n,ts,the name",
    "w3c.log": "#Version: 1.0\n#Fields: date time cs-uri-stem sc-status",
}
LINES: dict[str, tuple[Callable[[datetime, random.Random], str], str]] = {
    "apache.log": (_access, "not an access log"),
    "nginx.log": (_access, '1.1.1.1 - - [never] "GET / HTTP/1.1" 200 1 "-" "-"'),
    "syslog.log": (_syslog, "<34>Oct 41 99:99:99 web sshd: x"),
    "logfmt.log": (_logfmt, 'at=soon msg="'),
    "fixed.txt": (_fixed, "2026-05-01xx"),
    "nested.json": (_nested, '{"@timestamp": "2026-05-01T12:00:00Z", "price": "1.005"}'),
    "pipes.csv": (_pipes, "1777636800||one"),
    "headed-1.csv": (_headed, "a,yesterday,more,1"),
    "headed-2.csv": (_headed_otherwise, "too,few"),
    "w3c.log": (_w3c, "2026-05-01 never / 200"),
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("formats") / "sites"
    chance = random.Random(20261117)
    for site, count in SITES.items():
        (directory / site).mkdir(parents=True)
        for name, (line, broken) in LINES.items():
            times = [BEGIN + timedelta(seconds=chance.randrange(240)) for _ in range(count)]
            lines = [line(at, chance) for at in times] + [broken] * 3
            chance.shuffle(lines)
            head = [HEADERS[name]] if name in HEADERS else []
            text = "\n".join([*head, *lines[:10], *head, *lines[10:]]) + "\n"
            (directory / site / name).write_text(text, encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def central(spark_house, sites: Path) -> list[StreamResult]:
    return try_central(TEXT, sites, spark=spark_house.running())


@pytest.mark.timeout(300)
def test_every_format_is_read_alike_by_sites_and_by_one_spark(
    spark_house, sites: Path, central: list[StreamResult]
) -> None:
    federated = try_query(TEXT, sites, spark=spark_house.running())
    assert differences(federated, central) == dict.fromkeys(NAMES)


COUNTED = ("by_apache", "by_nginx", "by_syslog", "by_logfmt", "by_nested", "by_header", "by_w3c")


@pytest.mark.parametrize("name", COUNTED)
def test_every_record_that_was_written_is_counted(central: list[StreamResult], name: str) -> None:
    found = next(one for one in central if one.query.id.name == name)
    counted = sum(sum(window.rows["n"].to_pylist()) for window in found.windows)
    files = 2 if name == "by_header" else 1
    assert counted == files * sum(SITES.values())
