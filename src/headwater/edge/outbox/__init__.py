"""Updates on their way to the root: where each of them stands, and which leave next.

Open ``pane_book`` first, then ``outbox`` and ``sending``. ``early`` is which keys may leave
before a close, and ``early_rounds`` drives it for one query.

It may touch what ``edge`` may, and of the rooms beside it ``closing``.
"""
