"""Months of comings and goings on one JVM, in minutes: nothing may pile up."""
