"""What Arrow reads surely as Spark would: whole columns of lines, with every other line given back.

Pure functions over Arrow's values; workers of Spark call them. Open ``strict_columns`` first.

It may touch what ``reading`` may, and no room beside it.
"""
