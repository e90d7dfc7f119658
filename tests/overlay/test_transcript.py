"""Whole conversations as text: who says what to whom, in order, heartbeats left out."""

from headwater.algebra.summary import Lane
from headwater.overlay.messages import (
    AckMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    Heartbeat,
    StatesMessage,
)
from headwater.overlay.outputs import Transmit
from headwater.plan.command import Install


def transcript(world):
    """Attach to a world: every message that is sent from now on becomes a line."""
    lines = []
    began_s, carry = world.now_s, world._carry

    def record(name: str, output: Transmit) -> None:
        if not isinstance(output.message, Heartbeat):
            time_ms = round(1_000 * (world.now_s - began_s))
            lines.append(f"{time_ms:5} {name} > {output.to}: {told(world, output.message)}")
        carry(name, output)

    world._carry = record
    return lines


def told(world, message):
    name = {ordinal: site for site, ordinal in world.ordinal.items()}
    match message:
        case CommandMessage(command) if isinstance(command, Install):
            return f"install {command.query.id}"
        case CommandMessage(command):
            return f"remove {command.id}"
        case CommandsKnown(counts, live):
            numbers = " ".join(sorted(f"{count.installer}#{count.number}" for count in counts))
            return f"I know {numbers or 'nothing'}, live {' '.join(live) or 'nothing'}"
        case AskInstall(ids):
            return f"what is {' '.join(ids)}?"
        case StatesMessage(states):
            return "states of " + " ".join(name[state.ordinal] for state in states)
        case AckMessage(ack):
            return f"ack {ack.number}"
        case _:
            summary = message.summary
            sites = "".join(n for o, n in sorted(name.items()) if summary.coverage.sites >> o & 1)
            return f"{summary.lane} pane {summary.pane} of {sites}"


def text(lines):
    return "\n".join(["", *lines, ""])


def test_a_pane_and_its_acknowledgement(overlay):
    world = overlay.World("r\n  a\n    c\n    d\n  b")
    lines = transcript(world)
    query = world.install()
    world.run(0.1)
    for site in "abcd":
        world.report(site, query)
        world.originate(site, 7, query=query)
    world.run(0.4)
    world.originate("c", 7, query=query, lane=Lane.SPARE)
    world.run(0.1)
    world.acknowledge(query)
    world.run(0.1)
    expected = """
    0 r > a: install q@r#1
    0 r > b: install q@r#1
   10 a > c: install q@r#1
   10 a > d: install q@r#1
  100 b > r: live pane 7 of b
  100 c > a: live pane 7 of c
  100 d > a: live pane 7 of d
  110 a > r: live pane 7 of acd
  200 a > r: states of a
  200 b > r: states of b
  200 c > a: states of c
  200 d > a: states of d
  310 a > r: states of c d
  500 c > a: spare pane 7 of c
  510 a > r: spare pane 7 of c
  600 r > a: ack 1
  600 r > b: ack 1
  610 a > c: ack 1
  610 a > d: ack 1
"""
    assert text(lines) == expected


def test_a_peer_that_was_away_is_brought_up_to_date(overlay):
    world = overlay.World("r\n  a")
    old = world.install("old")
    world.run(1.0)
    world.sever("r", "a")
    world.remove(old)
    world.install("new")
    lines = transcript(world)
    world.connect("r", "a")
    world.run(0.5)
    expected = """
   10 a > r: I know r#1, live old@r#1
   10 r > a: I know r#3, live new@r#3
   20 a > r: what is new@r#3?
   30 r > a: install new@r#3
"""
    assert text(lines) == expected
    assert world.live("a") == {"new@r#3"}
