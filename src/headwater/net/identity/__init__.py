"""Who is who: certificates, keys, signatures, and the roster as an operator's word.

Open ``identity`` first, then ``signing``.
"""
