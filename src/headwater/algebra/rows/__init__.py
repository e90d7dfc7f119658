"""The rows of summaries: their columns and types, how they merge in Spark's semantics, and when two
answers are equal.

Arrow is all that this touches. Open ``columns`` first, then ``arrow_rows``.

It may touch what ``algebra`` may, and of the rooms beside it ``aggregates`` and ``top``.
"""
