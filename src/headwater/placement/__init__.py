"""Where the parts of a query run: trees over the roster, planned once and the same by everybody.

Pure functions of roster, coordinates and seed. Open ``plan_trees`` first.

It may touch ``plan`` and ``algebra``.
"""
