"""What of a query may change while it runs: its settings, and which of them hold for which pane.

Values alone, as all of ``plan``. Open ``settings`` first.

It may touch what ``plan`` may, and of the rooms beside it ``degrading``.
"""
