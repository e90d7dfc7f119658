"""Spark, at both ends: the first part of a query at a site, its last part at the root, and the
reference.

The only room that knows Spark. ``jvm`` starts and keeps it, ``lines`` makes records of lines,
``workers`` does so for large batches, ``site`` runs batches, ``root`` finishes answers, ``rows``
hands rows over, ``results`` reads answers in anybody's Spark, ``cluster`` is for masters beyond
this machine. Open ``jvm.session`` first, then ``site.batch``.

It may touch ``sql`` and what is below it; of the other rooms that know the world, none.
"""
