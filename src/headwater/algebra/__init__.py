"""Values with laws: what can be merged, and what the machines above count, place and compare with.

Frozen values and functions of them. It may touch no other room, and nothing here knows a clock,
chance, disk, socket or Spark. Open ``summary`` first: what travels, with its pane (``panes``) and
with whom it covers (``coverage``). ``aggregates`` has what sites compute and relays merge, ``rows``
how that is done with Arrow, ``sets`` sets of numbers, ``words`` what members say of themselves
beside it, ``remainders`` what an answer may be off by where sites keep something back.
"""
