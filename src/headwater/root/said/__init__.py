"""What a root says: acknowledgements to sites, the envelope of an answer, and why a window is as it
is.

Open ``assess`` first, then ``envelope``.
"""
