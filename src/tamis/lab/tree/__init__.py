"""Gryphon's matching tree (Aguilera et al., PODC 1999): keys, conjunctions, growth, layout, matching, and the matcher
`tree`.
"""
