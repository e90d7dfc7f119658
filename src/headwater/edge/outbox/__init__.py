"""Updates on their way to the root: which are cut, sent, acknowledged, asked for again.

Open ``pane_book`` first, then ``sending`` and ``read_ack``.
"""
