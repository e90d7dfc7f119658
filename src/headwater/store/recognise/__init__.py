"""Which file this is: growth, rename, copy, return and truncation told apart.

Open ``identity`` first, then ``verdict``.

It may touch what ``store`` may, and of the rooms beside it ``follow``.
"""
