"""Codes: what a value becomes before it is compared.

Every constant that the subscriptions of a level compare an attribute with has a rank r among that attribute's
constants, and the code 2r + 1; a value between two constants has the even code between theirs. So every comparison
of the language is `low <= code <= high` over int32, exactly, and an absent attribute fails each of them by itself.
"""

from __future__ import annotations

import numpy as np

ABSENT = np.int32(-(2**31))  # below LOWEST: fails every interval
LOWEST = np.int32(-(2**31) + 1)  # an open lower end
HIGHEST = np.int32(2**31 - 1)  # an open upper end
