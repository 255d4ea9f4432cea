"""Numbers in the documents, which are written there from the files of results.

A document says where: ``<!-- results: NAME -->`` and ``<!-- end -->`` stand around what is written,
a table on lines of its own or a number within a sentence. ``<!-- verification: NAME -->`` and
``<!-- throws: NAME -->`` do the same for verification and for real throws. ``python -m studies
documents`` writes all of them.
"""
