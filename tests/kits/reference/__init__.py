"""What a query means, in plain Python: no Spark, no split, and nothing of our own compiler.

It reads the user's SELECT with sqlglot, evaluates it over records that are dicts, and yields the
rows of each window. Slow and short: each rule of the language is one line or two, so that it can be
held against Spark's manual by reading. Open ``answer`` first, then ``expressions`` and
``aggregates``.

Numbers: bigints and ints are ``int``, decimals are ``Fraction`` (exact; whoever compares rounds to
the scale of the answer's column), doubles are ``float``.
"""
