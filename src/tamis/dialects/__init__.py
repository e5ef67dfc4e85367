"""Dialects: filters written in other systems' languages, converted to Tamis's own.

`eventbridge`, `jms` and `sigma` each have `convert` (a rule to a filter's text) and `needed` (the attributes that rules
ask for); `cesql` and cloudevents_filters.py evaluate CloudEvents' filters, and translate what they can. A rule that has
no filter of the same meaning is refused with place, reason and remedy (conversion.py).
"""

from tamis.dialects.conversion import ConversionError, Need, Refused, Report, convert_all, merged, proposed_schema

__all__ = ["ConversionError", "Need", "Refused", "Report", "convert_all", "merged", "proposed_schema"]
