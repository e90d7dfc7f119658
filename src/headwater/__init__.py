"""Headwater: continuous questions about data that is born in many places.

The rooms, from people down to values: ``cli``, ``local``, ``agent``; ``spark``, ``net``, ``store``
and ``sim``, which each know one thing outside us; ``node``, ``sql`` and ``infer``; ``placement``;
``edge``, ``overlay`` and ``root``; ``reading``, ``plan``, ``algebra``, ``errors``. Imports point
down only. ``docs/reading_order.md`` says where to begin.
"""

__version__ = "0.4.0"
