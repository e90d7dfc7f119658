"""Published answers as files that anything can read.

Open ``publication`` first.

It may touch what ``store`` may, and no room beside it.
"""
