"""When a site gives up some of a query's data, how much, and when all of it is back.

Open ``policy`` first: the rule, as a value. ``degrading`` drives it for one query; ``savings`` is
what each step saves. What an operator does to rows is not here: the cube and the levels do it.

It may touch what ``edge`` may, and of the rooms beside it ``outbox``.
"""
