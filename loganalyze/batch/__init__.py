"""Batch: folders of old runs -> one row a run, cached by content, on one machine or on a Dask cluster.

``discover`` finds files and forms units (files that belong together), ``work`` turns a unit into rows, ``engine`` runs
units in order on processes or a cluster, ``spool`` keeps rows on disk so that memory stays flat, ``output`` writes files.
"""
