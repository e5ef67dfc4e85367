"""Filters written in other systems' languages, read into Tamis's own.

Rules are imported by `eventbridge`, `jms` and `sigma`, each with `convert` (a rule to a filter's text) and `needed`
(the attributes that rules ask for). What has no filter of the same meaning is refused with place, reason and remedy.
"""

from tamis.dialects.conversion import ConversionError, Need, Refused, Report, convert_all, merged, proposed_schema

__all__ = ["ConversionError", "Need", "Refused", "Report", "convert_all", "merged", "proposed_schema"]
