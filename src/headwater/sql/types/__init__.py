"""What Spark would make of an expression, known before anything runs: types, sizes of values, and
which functions and kinds of SQL there are.

One list of functions for the compiler and for every site. Open ``functions`` first, then
``expression_types``.

It may touch what ``sql`` may, and of the rooms beside it ``read``, ``resolve`` and ``tree``.
"""
