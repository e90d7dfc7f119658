"""Forms of Spark SQL that are another one in fewer words, put into that one when they are read.

::

    url LIKE ANY ('/a%', '/b%')          (url LIKE '/a%' OR url LIKE '/b%')
    url NOT LIKE ALL ('/a%', '/b%')      (url NOT LIKE '/a%' AND url NOT LIKE '/b%')
    decode(status, 200, 'ok', 'other')   CASE WHEN status <=> 200 THEN 'ok' ELSE 'other' END
    window_time(window)                  timestampadd(MICROSECOND, -1, window.end)
    FROM views, LATERAL explode(tags) AS t(tag)
                                         FROM views LATERAL VIEW explode(tags) t AS tag

So types, admission and the split know the longer form alone, and no site has to learn a word. The
NULLs are Spark's: LIKE ANY is an OR over its patterns, and decode takes two NULLs for equal.
"""

from functools import reduce

from sqlglot import exp

_QUANTIFIED = (exp.Any, exp.All)
_WINDOWS = ("window", "session_window")


def long_form(node: exp.Expr) -> exp.Expr:
    """The longer form of this node; itself where it is none of these. For ``transform``."""
    if isinstance(node, exp.Like | exp.ILike) and isinstance(node.expression, _QUANTIFIED):
        return _each_pattern(node)
    if isinstance(node, exp.Anonymous):
        match str(node.this).lower(), len(node.expressions):
            case "decode", count if count > 2:
                return _cases(node.expressions)
            case "window_time", 1:
                return _last_moment(node)
    if isinstance(node, exp.Select) and node.args.get("joins"):
        _views_of_joins(node)
    return node


def _each_pattern(like: exp.Like | exp.ILike) -> exp.Expr:
    """``ESCAPE`` does not go with it in Spark, and a subquery nowhere; both are refused later."""
    patterns = _listed(like.expression.this)
    if not patterns or isinstance(like.parent, exp.Escape):
        return like
    matches: list[exp.Expr] = []
    for pattern in patterns:
        match = type(like)(this=like.this.copy(), expression=pattern.copy())
        matches.append(exp.Not(this=match) if like.args.get("negate") else match)
    join = exp.Or if isinstance(like.expression, exp.Any) else exp.And
    whole = reduce(lambda left, right: join(this=left, expression=right), matches)
    return exp.Paren(this=whole)


def _listed(brackets: exp.Expr) -> list[exp.Expr]:
    if isinstance(brackets, exp.Tuple):
        return list(brackets.expressions)
    return [brackets.this] if isinstance(brackets, exp.Paren) else []


def _cases(arguments: list[exp.Expr]) -> exp.Expr:
    value, *rest = arguments
    default = rest.pop() if len(rest) % 2 else None
    found = exp.Case(default=default.copy() if default is not None else None)
    for wanted, result in zip(rest[::2], rest[1::2], strict=True):
        is_it = exp.NullSafeEQ(this=value.copy(), expression=wanted.copy())
        found.append("ifs", exp.If(this=is_it, true=result.copy()))
    return found


def _last_moment(call: exp.Anonymous) -> exp.Expr:
    """Spark's: a microsecond before the window's end, which is in the window."""
    window = call.expressions[0]
    if not isinstance(window, exp.Column) or window.table or window.name.lower() not in _WINDOWS:
        return call
    end = exp.Column(this=exp.to_identifier("end"), table=window.this.copy())
    end.meta.update(window.this.meta)
    back = exp.Neg(this=exp.Literal.number(1))
    return exp.Anonymous(this="timestampadd", expressions=[exp.var("MICROSECOND"), back, end])


def _views_of_joins(select: exp.Select) -> None:
    """Generators beside the source are views of its records; joins with anything else stay. So do
    outer ones, of which Spark leaves out the records that SQL keeps."""
    joins = select.args["joins"]
    if not all(isinstance(join.this, exp.Lateral) and _takes_all(join) for join in joins):
        return
    for join in joins:
        view = join.this
        view.set("view", True)
        select.append("laterals", view)
    select.set("joins", None)


def _takes_all(join: exp.Join) -> bool:
    condition = join.args.get("on")
    is_free = condition is None or (isinstance(condition, exp.Boolean) and bool(condition.this))
    return is_free and not join.args.get("using") and not join.side
