"""What a site says about a query beside its summaries: its state, and digests of what it has
closed.

Open ``telling`` first.
"""
