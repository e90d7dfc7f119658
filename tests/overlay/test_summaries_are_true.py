"""Whatever the network does to summaries, coverage is what is in them and nothing is in twice.

Records are numbered and rows are bags of them, so the checker looks at sets, not at counts.
"""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.summary import Lane
from headwater.overlay.messages import SummaryMessage
from headwater.overlay.outputs import Transmit

TREE = """
root
  a
    c
      f
      g
    d
  b
    e
"""
LINKS = [("root", "a"), ("root", "b"), ("a", "c"), ("a", "d"), ("b", "e"), ("c", "f"), ("c", "g")]
SITES = ["root", "a", "b", "c", "d", "e", "f", "g"]

sites = st.sampled_from(SITES)
links = st.sampled_from(LINKS)
panes = st.integers(0, 2)
events = st.lists(
    st.one_of(
        st.tuples(st.just("send"), sites, panes, st.sampled_from(list(Lane))),
        st.tuples(st.just("late"), sites, panes, st.integers(2, 4)),
        st.tuples(st.just("copy"), sites, st.integers(0, 9)),
        st.tuples(st.just("cut"), links, st.booleans()),
        st.tuples(st.just("connect"), links),
        st.tuples(st.just("wait"), st.sampled_from([0.003, 0.03, 0.3, 3.0, 40.0])),
    ),
    max_size=60,
)
delays = st.fixed_dictionaries({link: st.sampled_from([0.001, 0.02, 0.5, 2.0]) for link in LINKS})


def last_on_the_link(world, left, right):
    """The newest summary that each end put on this link: the driver had not written it yet."""
    unsent = {}
    for end, other in ((left, right), (right, left)):
        on_link = [
            output.message
            for output in world.outputs[end]
            if isinstance(output, Transmit)
            and output.to == other
            and isinstance(output.message, SummaryMessage)
        ]
        unsent[end] = on_link[-1:]
    return unsent


def run_event(world, query, event):
    kind, *what = event
    if kind == "send":
        site, pane, lane = what
        world.originate(site, pane, query=query, lane=lane)
    elif kind == "late":
        site, pane, update = what
        world.originate(site, pane, query=query, update=update)
    elif kind == "copy":
        copy_a_message(world, *what)
    elif kind == "cut":
        link, gives_back = what
        if frozenset(link) in world.links:
            world.sever(*link, unsent=last_on_the_link(world, *link) if gives_back else None)
    elif kind == "connect":
        world.connect(*what[0])
    else:
        world.run(*what)


def copy_a_message(world, site, which):
    """A relay gets something that it, or somebody else, has had before."""
    sent = [
        output
        for outputs in world.outputs.values()
        for output in outputs
        if isinstance(output, Transmit) and isinstance(output.message, SummaryMessage)
    ]
    others = [name for name in SITES if name != site]
    if sent:
        world.hand(others[which % len(others)], site, sent[which % len(sent)].message)


@settings(max_examples=80, deadline=None)
@given(events, delays)
def test_coverage_is_exactly_what_is_in_whatever_the_network_does(overlay, script, delay_s):
    world = overlay.World(TREE)
    query = world.install()
    world.run(1.0)
    for (left, right), one_way_s in delay_s.items():
        world.delay_s[left, right] = world.delay_s[right, left] = one_way_s
    for event in script:
        run_event(world, query, event)
    for link in LINKS:
        world.connect(*link)
    world.run(60.0)
    world.check_truth()
    for name in SITES:
        assert "0 entries, 0 bytes" in world.peers[name].describe()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(sites, st.integers(0, 5)), unique=True, min_size=1, max_size=48),
    delays,
    st.lists(st.sampled_from([0.0, 0.01, 1.5]), min_size=48, max_size=48),
)
def test_without_faults_every_record_arrives_exactly_once(overlay, sends, delay_s, pauses_s):
    """In any order, with any delays: each (site, pane) comes once, in whatever company."""
    world = overlay.World(TREE)
    query = world.install()
    world.run(1.0)
    for (left, right), one_way_s in delay_s.items():
        world.delay_s[left, right] = world.delay_s[right, left] = one_way_s
    for (site, pane), pause_s in zip(sends, pauses_s, strict=False):
        world.originate(site, pane, query=query)
        world.run(pause_s)
    world.run(60.0)
    world.check_truth()
    arrived = Counter(record for summary in world.delivered() for record in summary.rows)
    assert arrived == Counter(dict.fromkeys(world.born, 1))
