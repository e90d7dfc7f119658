"""Messages as values, and the limits of the tuning."""

from typing import get_args

import msgspec
import pytest

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.errors import ConfigurationError
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import (
    AckMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    Heartbeat,
    Message,
    SummaryMessage,
    aged,
)
from headwater.plan.command import Count


def test_what_has_an_age_grows_older_and_the_rest_stays(overlay):
    summary = SummaryMessage(
        Summary(query="q@a#1", pane=1, coverage=Coverage.of_whole(1, 7), age_s=1.0)
    )
    ack = AckMessage(
        Acknowledgement(query="q@a#1", root_incarnation=1, number=1, done_through=0, age_s=2.0)
    )
    command = CommandMessage(overlay.an_install("q", "a", 1))
    ask = AskInstall(("q@a#1",))
    assert aged(summary, 0.5).summary.age_s == 1.5
    assert aged(ack, 0.5).ack.age_s == 2.5
    assert aged(command, 0.5).command.age_s == 0.5
    assert aged(ask, 0.5) == ask
    assert aged(summary, 0.0) is summary


def test_messages_are_told_apart_by_their_tag():
    for message in (
        Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=5),
        CommandsKnown((Count(installer="a", number=1, revision=1),), ("q@a#1",)),
        AskInstall(("q@a#1",)),
    ):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=Message) == message


def test_a_peer_receives_every_message(overlay):
    assert set(overlay.World("root").peers["root"]._receivers) == set(get_args(Message))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"heartbeat_every_s": 0.0}, "heartbeat_every_s > 0"),
        ({"entries_max": -1}, "entries_max > 0"),
        ({"net_dist_alpha": 1.5}, "net_dist_alpha <= 1"),
        ({"summary_life_s": 6.0}, "below summary_life_s"),
    ],
)
def test_a_tuning_that_cannot_work_is_refused(change, says):
    with pytest.raises(ConfigurationError, match=says):
        OverlayConfig(**change)
