"""Published answers as frames of anybody's Spark: the data source ``headwater``.

It runs in users' own Sparks and imports little of ours. Open ``results_source`` first.

It may touch what ``spark`` may, and of the rooms beside it ``jvm``.
"""
