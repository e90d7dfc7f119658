"""From a look at some files to the CREATE SOURCE that reads them.

Pure decisions over a bounded sample of lines: which format it is, where values begin and end, which
types they have, and what places a record in time. Whatever is a guess is said as a doubt, in words.
Files are opened, expanded and held against Spark's own parser elsewhere. Open
``infer_source`` first.

It may touch ``reading``, ``plan`` and ``algebra``.
"""
