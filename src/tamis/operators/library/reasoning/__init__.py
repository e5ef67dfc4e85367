"""Operators on kinds and relations inferred from an ontology: `is_a` and `related`.

With the extra `reasoning`: rdflib and owlrl.
"""

from tamis.operators.library.reasoning.ontology import SAMPLE, Reasoning, reasoning

__all__ = ["SAMPLE", "Reasoning", "is_a", "reasoning", "related"]

is_a, related = reasoning()
