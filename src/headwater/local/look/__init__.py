"""Looking into files before any query runs: ``infer`` and ``check-source``.

Open ``infer_files`` first.

It may touch what ``local`` may, and no room beside it.
"""
