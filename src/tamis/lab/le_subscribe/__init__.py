"""Matchers of Le Subscribe's comparison (Fabret et al.): equality-preferred, counting, Gough and Smith's, Hanson's,
NEON's, and a scan.
"""
