"""Links over TCP and TLS: one port, two connections for each neighbour, strangers held off.

Open ``frames`` first, then ``link`` and ``tls_network``.

It may touch what ``net`` may, and of the rooms beside it ``control``, ``identity`` and ``values``.
"""
