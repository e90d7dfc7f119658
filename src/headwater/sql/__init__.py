"""From SQL text to queries that sites, relays and roots can run, and the check of whoever is to run
one.

``read`` takes a file of statements apart, ``resolve`` makes a SELECT a ``tree`` of frozen nodes in
which every name is known, ``types`` knows what Spark would make of each expression, ``rules``
rewrite the tree, ``write`` says it in SQL again for site, root and reference, and ``admit`` is what
a site asks of a query that came over the wire. Pure, with sqlglot; it may touch ``plan``,
``algebra`` and, for ``explain``, ``edge``. Open ``compile`` first, then ``tree.nodes``.
"""
