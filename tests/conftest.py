"""What all tests share: one JVM at a time, because a start takes seconds, within bounds.

A JVM is shared by the tests of a few modules and then replaced, so that what piles up in it can't
decide whether a test passes. One that dies fails the test that runs, at once and with its last
words; the next test gets another.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.spark.jvm.session import RunningSpark

MODULES_MAX = 16
"""Modules that share a JVM."""
SHARE_MAX = 0.5
"""Of a limit of the JVM (heap, metaspace, code cache): beyond, the next module gets another."""
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
INTERPRETED_MODULES = (
    "tests/algebra/aggregates/test_laws.py",
    "tests/awkward/test_awkward.py",
    "tests/conformance/test_formats_equal_central.py",
    "tests/conformance/test_generated_queries.py",
    "tests/conformance/test_parts_equal_central.py",
    "tests/conformance/test_queries.py",
)
"""In them Spark interprets what it compiles elsewhere, as for an agent, but for tests that ask for
it (``running``): with many queries over few records, compiling is most of the work."""
WORDS_SHOWN = 2_000
DEATH = signal.SIGUSR2
"""Our own watcher sends it to our own main thread."""

# How long an example takes says how busy the machine is, not whether a law holds.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# A test is about what the project makes itself, whatever traces lie beside it.
os.environ["HEADWATER_TRACES"] = str(Path(__file__).parent / "no traces")
# A run in the background ignores what Ctrl-C sends, and so would all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class JvmDiedInTest(Exception):
    """The JVM that this test worked with is gone."""


class SparkHouse:
    """The JVM of the tests. Used by the main thread, but for the watcher."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: RunningSpark | None = None
        self._modules: set[str] = set()
        self._module = ""
        """The newest that began."""
        self._kept: dict[str, Any] = {}
        self._is_told = False
        self._is_armed = False
        self._starts = 0
        signal.signal(DEATH, self._died)

    def running(self, *, is_compiled: bool | None = None) -> "RunningSpark":
        """The lean session of the project, on two cores; Java compiles quickly rather than well.

        ``is_compiled``: whether Spark compiles what is planned from now on, where it is not as the
        module has it.
        """
        if self._running is None or not self._running.is_alive():
            self._start()
        assert self._running is not None
        if is_compiled is None:
            is_compiled = self._module not in INTERPRETED_MODULES
        set_compiled(self._running.session, is_compiled=is_compiled)
        return self._running

    def enter(self, module: str) -> None:
        """A module begins: another JVM if this one has served long enough, or has died."""
        self._module = module
        if module in self._modules:
            return
        if self._running is not None and self._is_used_up(self._running):
            self.stop()
        self._modules.add(module)

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """Something that is made once for each JVM."""
        self.running()
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def arm(self, is_armed: bool) -> None:
        """From now on a death interrupts the main thread, or no longer."""
        self._is_armed = is_armed

    def raise_if_dead(self) -> None:
        """Once for each death."""
        end = None if self._running is None else self._running.end()
        if end is not None and not self._is_told:
            self._is_told = True
            raise JvmDiedInTest(f"{end}\nits last words:\n{self._last_words()}")

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
        self._running = None
        self._modules.clear()
        self._kept.clear()

    def _start(self) -> None:
        from headwater.spark.jvm.session import SparkConfig, start_session

        self.stop()
        self._starts += 1
        self._is_told = False
        self._running = start_session(
            SparkConfig(
                master="local[2]",
                directory=str(self._directory),
                log=str(self._log()),
                is_brief=True,
            )
        )
        threading.Thread(target=self._watch, args=(self._running,), daemon=True).start()

    def _is_used_up(self, running: "RunningSpark") -> bool:
        from headwater.spark.jvm.vitals import read_vitals

        if not running.is_alive() or len(self._modules) >= MODULES_MAX:
            return True
        return max(read_vitals(running).shares().values()) > SHARE_MAX

    def _watch(self, running: "RunningSpark") -> None:
        while not running.ends_within(60.0):
            pass
        if running is self._running:
            signal.pthread_kill(threading.main_thread().ident or 0, DEATH)

    def _died(self, *_: object) -> None:
        """In the main thread, wherever it waits."""
        if self._is_armed:
            self._is_armed = False
            self.raise_if_dead()

    def _log(self) -> Path:
        return self._directory / f"jvm-{self._starts}.log"

    def _last_words(self) -> str:
        return self._log().read_text(errors="replace")[-WORDS_SHOWN:]


def set_compiled(session: "SparkSession", *, is_compiled: bool) -> None:
    """Of this session, and of those that are made from now on, which have what the context has."""
    context = session.sparkContext._jsc.sc().conf()
    for name, value in INTERPRETED.items():
        if is_compiled:
            context.remove(name)
            session.conf.unset(name)
        else:
            context.set(name, value)
            session.conf.set(name, value)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of several workers (``-n 2``), each with a JVM of its own."""
    sys.path.insert(0, str(Path(__file__).parent))
    from work_dealer import WorkDealer

    return WorkDealer(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker; a single process keeps the order of the files."""
    if hasattr(config, "workerinput"):
        sys.path.insert(0, str(Path(__file__).parent))
        from work_dealer import longest_first

        longest_first(items)


@pytest.fixture(scope="session", autouse=True)
def _no_width() -> Iterator[None]:
    """Tables are as wide as they are in a file, whatever terminal the tests are started from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        yield


HOUSE = pytest.StashKey[SparkHouse]()


@pytest.fixture(scope="session")
def spark_house(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[SparkHouse]:
    house = pytestconfig.stash[HOUSE] = SparkHouse(tmp_path_factory.mktemp("spark"))
    yield house
    house.stop()


@pytest.fixture
def running_spark(spark_house: SparkHouse) -> "RunningSpark":
    return spark_house.running()


@pytest.fixture
def spark(running_spark: "RunningSpark") -> "SparkSession":
    return running_spark.session


def _house(item: pytest.Item) -> SparkHouse | None:
    """Of a test that works with the shared JVM."""
    return item.funcargs.get("spark_house") if isinstance(item, pytest.Function) else None


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[Any]:
    """What a fixture does with the JVM is watched like the test itself."""
    house = request.config.stash.get(HOUSE, None)
    if house is None or "spark_house" not in request.fixturenames:
        return (yield)
    house.enter(request.node.nodeid.partition("::")[0])
    house.arm(True)
    try:
        return (yield)
    finally:
        house.arm(False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    house = _house(item)
    if house is None:
        return (yield)
    house.raise_if_dead()
    house.arm(True)
    try:
        result = yield
        house.raise_if_dead()
        return result
    finally:
        house.arm(False)


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """Commands set what their process logs; the next test begins as if there had been none."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)
