"""The option ``degrade``: what a stream may give up where its way is too narrow.

Open ``degrade_option`` first: how it is written; then ``asked_degradation``: what of it the stream
can have, which is said in one place for all refusals (``can_be_had``). ``asked_levels`` has the
reader of each operator. ``shed_option`` is about CPU instead of links: panes that can't be read in
time.

It may touch what ``sql`` may, and of the rooms beside it ``read``, ``resolve``, ``rules``, ``tree``
and ``types``.
"""
