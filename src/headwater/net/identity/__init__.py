"""Who is who: certificates, keys, signatures, and the roster as an operator's word.

Open ``identity`` first, then ``signing``.

It may touch what ``net`` may, and of the rooms beside it ``values``.
"""
