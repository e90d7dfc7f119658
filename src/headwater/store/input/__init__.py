"""Input as numbered cuts: of files that grow, of files that are complete, of compressed ones.

Open ``cuts`` first, then ``cutting`` and ``finite``.

It may touch what ``store`` may, and of the rooms beside it ``follow``, ``past`` and ``recognise``.
"""
