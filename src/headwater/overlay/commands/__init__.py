"""Commands at a peer: given, flooded, received, reconciled, and the queries that are live by them.

Open ``commands`` first.
"""
