"""A SELECT with every name resolved, its window found and its groups told from its records: a
``Question``.

Open ``question`` first, then ``resolve_select``.
"""
