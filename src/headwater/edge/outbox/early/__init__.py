"""Which keys of an open pane leave before its close, and which are kept back at it.

Pure, and in numpy columns: nothing is done key by key. ``early_rounds`` beside this room drives it
at a site; so do experiments and benchmarks. What is chosen here may be wrong, and harms nothing but
the time that an answer takes.

Open ``key_book`` first, then ``key_columns`` for what is known of a key. The parts that are
exchanged by name: ``partition`` (which keys matter), ``pick`` (which of them leave first, with
``gain`` in a file of its own). ``key_past`` is what earlier panes teach, ``contest`` who picks
where two of them differ.

It may touch what ``outbox`` may, and no room beside it.
"""
