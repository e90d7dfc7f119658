"""A tree refuses to be made wrong, and a rule makes a new one and changes nothing else."""

import msgspec
import pytest
from sqlglot import exp

from headwater.algebra.rows.columns import Partial
from headwater.plan.part import Part
from headwater.sql.compile import RULES, parse_script, rewritten
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import column, sql_of
from headwater.sql.resolve.resolve_select import resolve_select
from headwater.sql.rules.deal_out_groups import deal_out_groups
from headwater.sql.rules.keep_what_has_a_time import keep_what_has_a_time
from headwater.sql.rules.order_by_columns import order_by_columns
from headwater.sql.rules.split_aggregates import split_aggregates
from headwater.sql.tree.items import Item, Key, Term
from headwater.sql.tree.nodes import (
    Grouped,
    Kept,
    Node,
    Ordered,
    Records,
    Shown,
    Split,
    one,
    rewrite,
    the,
    walk,
)
from headwater.sql.tree.slots import CALL, KEY, slot

SELECT = (
    "SELECT domain, sum(bytes) AS b FROM access a WHERE bytes > 0 "
    "GROUP BY window(ts, '10s'), domain HAVING b > 1 ORDER BY avg(bytes) DESC LIMIT 3"
)


def asked(select: str = SELECT) -> Node:
    script = parse_script(
        "CREATE SOURCE access (ts TIMESTAMP, domain STRING, bytes BIGINT) "
        f"WITH (format = 'csv', path = '*.log', time = 'ts'); CREATE STREAM s AS {select};"
    )
    found = script.streams[0].select
    assert isinstance(found, exp.Select)
    return resolve_select(found, script.sources[0])


def changed(node: Node, **changes: object) -> Node:
    found: Node = msgspec.structs.replace(node, **changes)
    return found


def names(tree: Node) -> list[str]:
    return [type(node).__name__ for node in walk(tree)]


def test_a_select_is_one_node_for_each_clause_over_one_another() -> None:
    assert names(asked()) == ["Ordered", "Shown", "Kept", "Grouped", "Kept", "Records"]
    bare = "SELECT count(*) AS n FROM access GROUP BY window(ts, '10s')"
    assert names(asked(bare)) == ["Shown", "Grouped", "Records"]


def test_what_a_person_wrote_wrong_is_objected_to_by_the_node_it_would_be() -> None:
    tree, null = asked(), exp.Null()
    group = the(tree, Grouped)
    with pytest.raises(Objection, match="NULL has no type to group by"):
        Key("k", null, "void")
    with pytest.raises(Objection, match="NULL has no type; write"):
        Shown(group, (Item("x", null, "void", null),))
    with pytest.raises(Objection, match="each window has its own order"):
        Term(Item("", null, "void", null))
    with pytest.raises(Objection, match="WHERE takes a condition"):
        Kept(the(tree, Records), null, "int", null)
    with pytest.raises(Objection, match="HAVING takes a condition"):
        Kept(group, null, "int", null)


def test_what_a_rule_makes_wrong_is_not_made() -> None:
    tree = rewritten(asked(), None)
    group, split, shown = the(tree, Grouped), the(tree, Split), the(tree, Shown)
    ordered = the(tree, Ordered)
    twice = Partial(group.keys[0].name, "bigint", "sum")
    unknown = Partial("p", "bigint", "median")
    slotless = Item("x", slot(CALL, 9), "bigint", column("x"))
    for node, changes in [
        (group, {"keys": group.keys * 2}),
        (split, {"partials": {twice: "COUNT(*)"}}),
        (split, {"partials": {unknown: "MEDIAN(x)"}}),
        (split, {"finishes": ()}),
        (shown, {"items": shown.items * 2}),
        (shown, {"items": (), "hidden": ()}),
        (shown, {"items": (slotless,)}),
        (ordered, {"ties": ("nothing",)}),
        (ordered, {"limit": 0}),
    ]:
        with pytest.raises(AssertionError):
            changed(node, **changes)


def test_a_record_without_a_time_is_dropped_first() -> None:
    (time, where) = the(keep_what_has_a_time(asked()), Grouped).conditions
    assert (sql_of(time.condition), time.written) == ("NOT ts IS NULL", None)
    assert sql_of(where.condition) == "(bytes > 0)"


def test_a_part_is_asked_for_its_own_groups_last() -> None:
    part = Part("s", 2, 3)
    tree = rewrite(asked(), Grouped, lambda group: changed(group, part=part))
    (_, own) = the(deal_out_groups(tree), Grouped).conditions
    assert sql_of(own.condition) == "PMOD(XXHASH64(domain), 3) = 1"
    assert deal_out_groups(asked()) == asked()


def test_an_order_is_by_columns_and_leaves_nothing_open() -> None:
    tree = the(order_by_columns(asked()), Ordered)
    assert [term.item.name for term in tree.terms] == ["__order_1"]
    assert [item.name for item in tree.below.hidden] == ["__order_1"]
    assert tree.ties == ("domain", "b")
    by_shown = the(order_by_columns(asked(SELECT.replace("avg(bytes)", "b"))), Ordered)
    assert ([term.item.name for term in by_shown.terms], by_shown.ties) == (["b"], ("domain",))
    assert by_shown.below.hidden == ()


def test_a_grouping_is_split_where_it_stands() -> None:
    before, after = asked(), split_aggregates(asked())
    assert names(after) == [*names(before)[:3], "Split", *names(before)[3:]]
    assert the(after, Grouped) == the(before, Grouped)
    assert [partial.name for partial in the(after, Split).partials] == ["sum_1", "count_2"]


def test_rules_run_in_their_order_and_all_of_them() -> None:
    by_hand = asked()
    for rule in RULES:
        by_hand = rule(by_hand)
    assert rewritten(asked(), None) == by_hand
    assert one(by_hand, Split) is not None
    assert sql_of(the(by_hand, Shown).items[0].expression) == sql_of(slot(KEY, 0))
