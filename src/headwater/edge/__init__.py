"""The edge of a site: what of each query is closed, made, sent, sealed and said.

A machine that one drives: reports and acknowledgements in, outputs out, time as an argument. It
may touch ``plan`` and ``algebra``, not the overlay and not the root. Open ``edge`` first, then
``query_state`` and ``query_edge``. ``closing`` says when a pane may close, ``outbox`` what becomes
of updates, ``acks`` what has arrived of them, ``words`` what a site tells beside them, ``batches``
when Spark should read.
"""
