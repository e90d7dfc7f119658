"""Which file this is: growth, rename, copy, return and truncation told apart.

Open ``identity`` first, then ``verdict``.
"""
