"""What a root says: acknowledgements to sites, the envelope of an answer, and why a window is as it
is.

Open ``assess`` first, then ``envelope``.

It may touch what ``root`` may, and of the rooms beside it ``carriers``.
"""
