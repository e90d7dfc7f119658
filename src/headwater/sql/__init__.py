"""From SQL text to queries that sites, relays and roots can run, and the check of whoever is to run
one.

``read`` takes a file of statements apart, ``resolve`` makes a SELECT one question with every name
known, ``types`` knows what Spark would make of each expression, ``rules`` splits the question,
``write`` says its parts in SQL again, and ``admit`` is what a site asks of a query that came over
the wire. Pure, with sqlglot; it may use ``plan`` and ``algebra``. Open ``compile`` first.
"""
