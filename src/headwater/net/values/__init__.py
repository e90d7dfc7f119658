"""Bytes from outside into values, with a limit on everything that counts.

Open ``codec`` first, then ``wire``, ``wire_acks`` and ``wire_commands``.

It may touch what ``net`` may, and no room beside it.
"""
