"""Small, plausible mistakes, each of which must make a test fail: what the tests can see.

The lists lie beside this file, one for each part of the system. ``python -m mutants`` applies one
mistake at a time to a copy of the project and runs the tests that it names.
"""
