"""The vocabulary of everybody: what a query, a roster, a tree and a command are.

Frozen values that travel as data. It may touch ``algebra`` and nothing else of ours. Open ``query``
first, then ``roster`` and ``tree``. ``sources`` has what is said of input.
"""
