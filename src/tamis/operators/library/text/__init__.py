"""Operators on texts: `mentions` (keywords, by an Aho–Corasick automaton) and `finds` (regular expressions, by RE2).

Needs no extra. To decide only that a text matches, LIKE and RLIKE are cheaper: they are part of the index. These two
add the matched text, bound to a variable, and sets of words that are kept outside of the filters.
"""

from tamis.operators.library.text.operators import SAMPLE, Text, text

__all__ = ["SAMPLE", "Text", "finds", "mentions", "text"]

mentions, finds = text()
