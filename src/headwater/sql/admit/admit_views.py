"""LATERAL VIEWs of a site part from the wire: each exactly as the compiler writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from headwater.errors import QueryRefused
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import sql_of
from headwater.sql.resolve.generators import VIEWS_MAX, generated
from headwater.sql.write.write_site_sql import VIEW, view_sql

TypeOf = Callable[[exp.Expr, Mapping[str, str]], str]


def check_views(select: exp.Select, records: Mapping[str, str], type_of: TypeOf) -> dict[str, str]:
    """The columns that they add to records, with their types. Raises ``QueryRefused``."""
    views = select.args.get("laterals") or []
    if len(views) > VIEWS_MAX:
        raise QueryRefused(f"site part: wanted at most {VIEWS_MAX} views, got {len(views)}")
    found: dict[str, str] = {}
    for number, view in enumerate(views, start=1):
        alias = view.args.get("alias")
        names = [one.name for one in alias.args.get("columns") or ()] if alias is not None else []
        known = {**records, **found}
        try:
            made = generated(view.this, names, _over(known, type_of))
        except Objection as objection:
            raise QueryRefused(f"site part: {objection.message}") from objection
        is_outer = bool(view.args.get("outer"))
        wanted = view_sql(names, sql_of(view.this), f"{VIEW}{number}", is_outer=is_outer)
        taken = {name.lower() for name in known}
        is_new = bool(names) and taken.isdisjoint(name.lower() for name in names)
        if sql_of(view).strip() != wanted or not is_new:
            raise QueryRefused(f"site part: wanted {wanted[:200]}, got {sql_of(view)[:200]}")
        found |= {column.name: column.type for column in made}
    return found


def _over(known: Mapping[str, str], type_of: TypeOf) -> Callable[[exp.Expr], str]:
    return lambda node: type_of(node, known)
