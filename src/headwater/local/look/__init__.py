"""Looking into files before any query runs: ``infer`` and ``check-source``.

Open ``infer_files`` first.
"""
