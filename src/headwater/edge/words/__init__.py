"""What a site says about a query beside its summaries: its state, and digests of what it has
closed.

Open ``telling`` first.

It may touch what ``edge`` may, and no room beside it.
"""
