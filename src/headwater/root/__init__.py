"""The root of one query: it lets summaries in, answers windows, and tells the sites what it holds.

A machine that one drives. It may touch ``plan`` and ``algebra``, not the overlay and not the edge.
Open ``root`` first, then ``books``, which its parts share, ``intake``, ``scoreboard``, ``windows``
and ``answers``. ``carriers`` checks those who carried, ``said`` is what a root says of a window.
"""
