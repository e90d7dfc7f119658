"""Who may do what at a site, what is refused to whom, and what of it is written down."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from store_kit import query_of
from structlog.testing import capture_logs

from headwater.agent.config import AgentConfig
from headwater.agent.control import audit
from headwater.agent.control import control_api as api
from headwater.agent.control.audit import DONE, AuditLog, Entry, read_audit
from headwater.agent.control.front_desk import FrontDesk
from headwater.agent.control.rights import Asked, OperatorRights, Right, Rights
from headwater.errors import ConfigurationError, NotAuthorised
from headwater.net.control.control import Caller
from headwater.net.identity.identity import Identity, Role
from headwater.net.values.words import command_word
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter, Install, Remove
from headwater.plan.query import Query


def who(name: str, role: Role = Role.OPERATOR) -> Identity:
    return Identity("testland", role, name, serial=0x1AF)


def may(rights: Rights, person: Identity, right: Right, stream: str = "hits", source: str = "x"):
    return rights.objection(person, Asked(right, stream, source)) is None


def test_without_a_policy_operators_may_do_all_and_viewers_read() -> None:
    rights = Rights()
    assert [may(rights, who("ann"), right) for right in Right] == [True] * 4
    walter = who("walter", Role.VIEWER)
    assert [may(rights, walter, right) for right in Right] == [False, False, True, False]
    assert not any(may(rights, who("fra", Role.SITE), right) for right in Right)


def test_a_policy_says_who_may_do_what_to_which_streams_and_sources() -> None:
    rights = Rights(
        (
            OperatorRights("ann"),
            OperatorRights("web-*", streams=("web_*",), sources=("logs/web/*",)),
            OperatorRights("ben", may=(Right.READ,)),
        )
    )
    assert may(rights, who("ann"), Right.REMOVE)
    assert may(rights, who("web-1"), Right.INSTALL, "web_hits", "logs/web/a.log")
    assert not may(rights, who("web-1"), Right.INSTALL, "hits", "logs/web/a.log")
    assert not may(rights, who("web-1"), Right.INSTALL, "web_hits", "logs/pay/a.log")
    assert may(rights, who("ben"), Right.READ)
    assert not may(rights, who("ben"), Right.REMOVE)
    assert not may(rights, who("carl"), Right.READ), "whoever is not named may do nothing"
    assert not may(rights, who("ann", Role.VIEWER), Right.INSTALL), "a name is no role"


def test_all_streams_are_for_those_who_may_have_all() -> None:
    rights = Rights((OperatorRights("ann"), OperatorRights("ben", streams=("web_*",))))
    assert rights.objection(who("ann"), Asked(Right.INSTALL)) is None
    assert rights.objection(who("ben"), Asked(Right.INSTALL)) is not None


def test_a_policy_is_read_from_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(
        'site = "fra"\n[[policy.operators]]\nname = "web-*"\nmay = ["install", "read"]\n'
        'streams = ["web_*"]\n'
    )
    (one,) = AgentConfig.load(path).policy.operators
    assert one == OperatorRights("web-*", (Right.INSTALL, Right.READ), ("web_*",))
    path.write_text('site = "fra"\n[[policy.operators]]\nname = "x"\nmay = ["all"]\n')
    with pytest.raises(ConfigurationError, match="Invalid enum value"):
        AgentConfig.load(path)


class Desk:
    """A front desk before one that answers everything, and remembers it."""

    def __init__(self, directory: Path, *granted: OperatorRights, live: tuple[Query, ...] = ()):
        self.answered: list[str] = []
        self.compiled: list[str] = []
        self.now_s = 1_000.0
        self._live = live
        self.directory = directory
        self.front = FrontDesk(
            self._answer,
            Rights(granted),
            AuditLog(directory),
            compiled=self._compile,
            live=lambda: list(live),
            now_s=lambda: self.now_s,
        )

    def ask(self, name: str, person: Identity, **payload: Any) -> Any:
        self.now_s += 1
        return asyncio.run(self.front.handle(name, payload, Caller(person, "10.0.0.7")))

    async def _answer(self, name: str, payload: dict[str, Any]) -> Any:
        if payload.get("stream") == "broken":
            raise ZeroDivisionError
        self.answered.append(name)
        if name == api.STREAMS:
            former = [{"stream": "web_old"}, {"stream": "old"}]
            return {"streams": [{"id": str(one.id)} for one in self._live], "former": former}
        if name == api.COMPARE:
            words = {"former_text": "its words", "results": ("its place",)}
            return {"streams": [{"stream": payload["text"], **words}]}
        if name == api.ALARMS:
            ids = [str(one.id) for one in (*self._live, named("web_old"), named("old"))]
            found = [{"id": one, "stream": one.partition("@")[0], "text": "of it"} for one in ids]
            return {"alarms": [*found, {"id": "", "stream": "", "text": "pay@home#1: …"}]}
        return "answered"

    def _compile(self, text: str) -> list[Query]:
        self.compiled.append(text)
        return [named(text)]

    def outcomes(self) -> list[tuple[str, str, str]]:
        found = read_audit(self.directory)
        return [(one.who, one.asked, one.outcome.partition(":")[0]) for one in found]


def named(name: str) -> Query:
    query = query_of()
    return msgspec.structs.replace(query, id=msgspec.structs.replace(query.id, name=name))


WALTER = who("walter", Role.VIEWER)


def test_a_viewer_sees_and_changes_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for name in (api.STREAMS, api.SITES, api.WHY, api.WATCH, api.EXPLAIN, api.ALARMS):
        desk.ask(name, WALTER, stream="hits")
    for name in (api.COMPARE, api.PREPARE, api.PREPARE_REMOVAL, "something new"):
        with pytest.raises(NotAuthorised, match="viewer, who changes nothing"):
            desk.ask(name, WALTER, stream="hits", text="hits")
    assert desk.answered == [api.STREAMS, api.SITES, api.WHY, api.WATCH, api.EXPLAIN, api.ALARMS]
    assert desk.compiled == [], "what may not be done costs no work"


def test_a_viewer_asks_and_ends_questions_where_the_policy_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OperatorRights("walter", streams=("hits",), viewers_ask=True))
    desk.ask(api.PREPARE_ASK, WALTER, select="SELECT 1")
    desk.ask(api.END_ASK, WALTER, questions=["hits"])
    for name in (api.PREPARE, api.PREPARE_REMOVAL, api.GIVE_BUDGET):
        with pytest.raises(NotAuthorised, match="viewer, who changes nothing"):
            desk.ask(name, WALTER, stream="hits", text="hits")
    with pytest.raises(NotAuthorised, match="does not let walter ask stream 'pay'"):
        desk.ask(api.END_ASK, WALTER, questions=["pay"])
    removal = Remove(id=named("hits").id, installer="home", counter=2, operator="viewer/walter")
    with pytest.raises(NotAuthorised, match="viewer, who changes nothing"):
        desk.ask(api.GIVE, WALTER, removals=[signed(removal)])
    install = Install(named("hits"), (), 1, operator="viewer/walter")
    with pytest.raises(NotAuthorised, match="viewer, who changes nothing"):
        desk.ask(api.GIVE, WALTER, installs=[signed(install)])
    assert desk.answered == [api.PREPARE_ASK, api.END_ASK]


def test_a_viewer_asks_nothing_where_nobody_says_so(tmp_path: Path) -> None:
    for granted in ((), (OperatorRights("walter"),)):
        desk = Desk(tmp_path, *granted)
        with pytest.raises(NotAuthorised, match="wanted viewers_ask = true there"):
            desk.ask(api.PREPARE_ASK, WALTER, select="SELECT 1")


def test_whoever_the_policy_does_not_name_is_told_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OperatorRights("ann"))
    for name in (api.STREAMS, api.SITES, api.EXPLAIN, api.PREPARE):
        with pytest.raises(NotAuthorised, match="ben is not among them"):
            desk.ask(name, who("ben"), text="hits")
    assert desk.answered == desk.compiled == []


def test_rights_are_those_of_what_was_compiled_and_of_what_lives(tmp_path: Path) -> None:
    web = OperatorRights("web", streams=("web_*",))
    desk = Desk(tmp_path, web, live=(named("web_hits"), named("pay")))
    desk.ask(api.PREPARE, who("web"), text="web_more")
    desk.ask(api.PREPARE_REMOVAL, who("web"), stream="web_hits")
    for name, asked in ((api.PREPARE, {"text": "pay"}), (api.PREPARE_REMOVAL, {"stream": "pay"})):
        with pytest.raises(NotAuthorised, match="does not let web"):
            desk.ask(name, who("web"), **asked)
    with pytest.raises(NotAuthorised, match="read stream 'pay'"):
        desk.ask(api.WHY, who("web"), stream="pay", window="newest")
    with pytest.raises(NotAuthorised):
        desk.ask(api.WATCH, who("web"), stream=str(named("pay").id))
    with pytest.raises(NotAuthorised, match="install all streams"):
        desk.ask("something new", who("web"))
    reply = desk.ask(api.STREAMS, who("web"))
    assert [one["id"] for one in reply["streams"]] == [str(named("web_hits").id)]
    assert [one["stream"] for one in reply["former"]] == ["web_old"]


def test_whoever_may_install_and_not_read_is_not_shown_what_runs(tmp_path: Path) -> None:
    granted = (OperatorRights("ann"), OperatorRights("ben", may=(Right.INSTALL,)))
    desk = Desk(tmp_path, *granted, live=(named("hits"),))
    (shown,) = desk.ask(api.COMPARE, who("ann"), text="hits")["streams"]
    assert (shown["former_text"], shown["results"]) == ("its words", ("its place",))
    (hidden,) = desk.ask(api.COMPARE, who("ben"), text="hits")["streams"]
    assert (hidden["former_text"], hidden["results"]) == ("", ())


@pytest.mark.parametrize(
    ("rights", "shown"),
    [
        (OperatorRights("ann"), ["web_hits", "pay", "web_old", "old"]),
        (OperatorRights("ann", streams=("web_*",)), ["web_hits", "web_old"]),
        (OperatorRights("ann", streams=("web_hits",)), ["web_hits"]),
        (OperatorRights("ann", sources=("*.log",)), ["web_hits", "pay"]),
    ],
)
def test_alarms_about_streams_that_may_not_be_read_are_left_out(
    tmp_path: Path, rights: OperatorRights, shown: list[str]
) -> None:
    """Of those that are removed nobody knows the source any more."""
    desk = Desk(tmp_path, rights, live=(named("web_hits"), named("pay")))
    *alarms, lie = desk.ask(api.ALARMS, who("ann"))["alarms"]
    assert [one["stream"] for one in alarms] == shown
    assert bool(lie["text"]) is (len(shown) == 4), "words may name a stream"


def test_what_was_asked_is_written_down_with_its_outcome(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.ask(api.PREPARE, who("ann"), text="hits")
    with pytest.raises(NotAuthorised):
        desk.ask(api.PREPARE_REMOVAL, WALTER, stream="hits")
    with pytest.raises(ZeroDivisionError):
        desk.ask(api.PREPARE_REMOVAL, who("ann"), stream="broken")
    desk.ask(api.WHY, WALTER, stream="hits")
    ann, walter = who("ann").uri, WALTER.uri
    assert desk.outcomes() == [
        (ann, "prepare", DONE),
        (walter, "prepare removal", "refused"),
        (ann, "prepare removal", "failed"),
        (walter, "why", DONE),
    ]
    first = read_audit(tmp_path)[0]
    assert (first.at_s, first.serial, first.address) == (1_001.0, "1af", "10.0.0.7")
    assert first.what == '{"text":"hits"}'
    assert not (tmp_path / "audit" / "changes.jsonl").exists(), "nothing was given yet"


def signed(command: Install | Remove) -> dict[str, Any]:
    """As it is given; whether the signature is true is for the desk behind to see."""
    return msgspec.structs.asdict(api.SignedCommand(command_word(command), b"", b"", b""))


def test_what_is_given_is_held_to_the_rights_of_whoever_brings_it_and_whoever_signed_it(
    tmp_path: Path,
) -> None:
    web = OperatorRights("web", streams=("web_*",))
    desk = Desk(tmp_path, web, OperatorRights("ann"), live=(named("web_hits"), named("pay")))

    def give(person: str, signer: str, name: str) -> None:
        install = Install(query=named(name), trees=(), roster_version=1, operator=signer)
        desk.ask(api.GIVE, who(person), installs=[signed(install)])

    def end(person: str, signer: str, name: str) -> None:
        removal = Remove(id=named(name).id, installer="fra", counter=7, operator=signer)
        desk.ask(api.GIVE, who(person), removals=[signed(removal)])

    for do in (give, end):
        do("web", "web", "web_hits")
        do("ann", "ann", "pay")
        for person, signer in (("web", "web"), ("ann", "web"), ("web", "ann"), ("ann", "ben")):
            with pytest.raises(NotAuthorised):
                do(person, signer, "pay")
    changes = read_audit(tmp_path)
    done = [one for one in changes if one.outcome == DONE]
    assert len(done) == 4
    assert '"id":"web_hits@' in done[0].what
    assert '"operator":"web"' in done[0].what
    assert (tmp_path / "audit" / "changes.jsonl").read_bytes().count(b"\n") == 4


def test_what_is_no_command_is_refused_in_words(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for payload in ({"installs": [{"word": b"x"}]}, {"installs": 7}, {"orders": []}):
        with pytest.raises(ConfigurationError, match="give: wanted commands"):
            desk.ask(api.GIVE, who("ann"), **payload)
    assert desk.answered == []


def an_entry(number: int) -> Entry:
    return Entry(float(number), "headwater://x/operator/ann", "1", "", "why", "x" * 100, DONE)


def test_the_audit_log_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, file_bytes_max=1_000)
    log.add(an_entry(0), is_change=True)
    for number in range(1, 500):
        log.add(an_entry(number), is_change=False)
    files = list((tmp_path / "audit").iterdir())
    assert len(files) == 1 + audit.FILES_MAX
    assert max(path.stat().st_size for path in files) <= 1_000
    found = [one.at_s for one in read_audit(tmp_path)]
    assert found[0] == 0.0, "a change is not pushed out by those who ask"
    assert found[1:] == [float(n) for n in range(int(found[1]), 500)]
    assert len(found) > audit.FILES_MAX


def test_the_audit_log_is_its_owners_alone(tmp_path: Path) -> None:
    AuditLog(tmp_path).add(an_entry(1), is_change=True)
    directory = tmp_path / "audit"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (directory, directory / "changes.jsonl")]
    assert modes == [0o700, 0o600]


def test_what_is_long_is_cut(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.ask(api.PREPARE, who("ann"), text="x" * 100_000)
    assert len(read_audit(tmp_path)[0].what) == audit.WHAT_CHARACTERS_MAX


def test_a_disk_that_refuses_costs_the_line_and_no_request(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("in the way")
    desk = Desk(tmp_path)
    with capture_logs() as said:
        assert desk.ask(api.PREPARE, who("ann"), text="hits") == "answered"
    assert [(one["event"], one["asked"]) for one in said] == [
        ("not written to the audit log", "prepare")
    ]


def test_a_damaged_line_is_left_out_and_said(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.add(an_entry(1), is_change=True)
    with (tmp_path / "audit" / "changes.jsonl").open("ab") as file:
        file.write(b'{"at_s": 2, "who"\n')
    log.add(an_entry(3), is_change=True)
    with capture_logs() as said:
        assert [one.at_s for one in read_audit(tmp_path)] == [1.0, 3.0]
    assert len(said) == 1


def an_alter(name: str, operator: str) -> Alter:
    return Alter(
        id=named(name).id,
        installer="home",
        counter=3,
        number=1,
        first_pane=7,
        settings=Settings(options=(("deadline", "'9 s'"),)),
        operator=operator,
    )


def test_to_alter_a_stream_takes_the_right_to_install_it(tmp_path: Path) -> None:
    ben = OperatorRights("ben", streams=("web_*",))
    desk = Desk(tmp_path, OperatorRights("ann"), ben, live=(named("web_hits"), named("pay")))
    desk.ask(api.PREPARE_ALTER, who("ben"), stream="web_hits", settings="deadline = '9 s'")
    with pytest.raises(NotAuthorised, match="does not let ben install stream 'pay'"):
        desk.ask(api.PREPARE_ALTER, who("ben"), stream="pay", settings="deadline = '9 s'")
    for brings, signed in (("ben", "ann"), ("ann", "ben")):
        word = command_word(an_alter("pay", signed))
        given = {"alters": ({"word": word, "signature": b"", "key": b"", "certificate": b""},)}
        with pytest.raises(NotAuthorised, match="does not let ben install stream 'pay'"):
            desk.ask(api.GIVE, who(brings), **given)
    assert desk.answered == [api.PREPARE_ALTER]


def test_what_was_altered_is_written_down_in_plain_words(tmp_path: Path) -> None:
    desk = Desk(tmp_path, live=(named("hits"),))
    word = command_word(an_alter("hits", "ann"))
    given = {"alters": ({"word": word, "signature": b"", "key": b"", "certificate": b""},)}
    desk.ask(api.GIVE, who("ann"), **given)
    (one,) = read_audit(tmp_path)
    assert one.outcome == DONE
    assert "deadline = '9 s'" in str(one.what)
    assert "first_pane" in str(one.what)
