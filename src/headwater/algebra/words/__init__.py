"""What a site and a root say beside summaries, as values that their speaker signs: states,
acknowledgements, digests of closes, alarms, remarks, and the proofs that go with them.

Values alone: how they become bytes is in ``net``, who decides what to say in ``edge`` and ``root``.
Open ``site_state`` and ``acknowledgement`` first.

It may touch what ``algebra`` may, and of the rooms beside it ``remainders``, ``sets`` and ``top``.
"""
