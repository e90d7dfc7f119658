"""What a site, a relay and a root ask of a query before they run anything of it.

Whoever runs a text admits it; a refusal is of that query alone. Open ``admit`` first.

It may touch what ``sql`` may, and of the rooms beside it ``degrade``, ``read``, ``resolve``,
``rules``, ``tree``, ``types`` and ``write``.
"""
