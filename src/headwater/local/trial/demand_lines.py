"""What ``try`` says of a demand: nobody is late there, so nothing goes by it."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.plan.query import Query


def demand_lines(query: Query) -> Iterator[str]:
    demand = query.demanded
    if demand is None:
        return
    if demand.is_random:
        panes = query.window.panes_per_window
        drawn = f"{demand.panes_drawn(panes)} of each {panes} panes"
        yield (
            f"{query.id.name}: all sites were read to their end, and nothing was left to chance; "
            f"over logs that grow {drawn} are drawn ({demand.text()}), and the others never sent"
        )
        return
    follows = "that answer is final" if demand.is_final else "the rest follows"
    yield (
        f"{query.id.name}: all sites were read to their end, so its fidelity played no part; over "
        f"sites that are late a window is answered at {demand.text()}, and {follows}"
    )
