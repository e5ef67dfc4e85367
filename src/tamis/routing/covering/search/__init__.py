"""Search for covers among many filters: candidates are found by an index of corners and decided on facts.

ground.py    classes of equal filters, and the flat arrays that workers map
corners.py   the index that finds candidates
kernels.py   implication between conjunctions, and the settling of candidates
covers.py    the search itself
"""
