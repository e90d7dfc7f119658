"""What a site and a root keep on disk, and the files that they read.

It touches disks and nothing else of the world, by the few verbs of ``disk``, each of which can be
made to fail. ``manifest`` is the one commit, ``segments`` the files beside it: open these first.
``follow`` finds and cuts input, ``recognise`` tells files apart, ``input`` has the cuts, ``cube`` a
site's panes, ``ledger`` what a root holds, ``results`` its answers.

It may touch ``node`` and what is below it; of the other rooms that know the world, none.
"""
