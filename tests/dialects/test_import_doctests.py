"""The examples in the docstrings of the converters run."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from tamis.dialects import text_patterns as addresses
from tamis.dialects import text_patterns as complement
from tamis.dialects.eventbridge import converting as eventbridge
from tamis.dialects.eventbridge import converting as togetherness
from tamis.dialects.jms import converting as jms
from tamis.language import printing


@pytest.mark.parametrize(
    "module", [addresses, complement, printing, eventbridge, togetherness, jms], ids=lambda module: module.__name__
)
def test_the_examples_of_a_module_run(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
