"""A site's input on its way to Spark: which files, polled when, offered, committed, and remarked
on.

Open ``feeder`` first, then ``site_inbox``.

It may touch what ``agent`` may, and of the rooms beside it ``asking``.
"""
