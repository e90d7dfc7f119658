"""What an answer may be off by where sites keep something back: bounds, shares, remainders.

Columns as a whole, never a key at a time. Open ``tolerance`` first: what is asked of all columns of
a query, each an ``error_bound``. Then ``withhold``, what a site keeps back of a pane, and
``remainder``, how that adds up; the proof is there. ``withholding`` has what keeping a part of a
key back costs, and ``share_table`` how an absolute bound moves to where links are slow.

It may touch what ``algebra`` may, and of the rooms beside it ``rows`` and ``sets``.
"""
