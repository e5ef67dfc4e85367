"""Stock quotes as real events for P3's select-joins, from a folder of the user's."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats
from tamis.workloads.select_joins import DOMAIN, JOINING_KEYS, R_ROWS, SelectJoins, select_joins
from tamis.workloads.stock_quotes import stock_quotes

FOLDER = "TAMIS_STOCK_QUOTES"
DEFAULT = "../shared/data/padres_workload"
S_ROWS = 2_300


def quoted_joins(subscriptions: int, events: int, seed: int = 1) -> SelectJoins:
    """Synthetic subscriptions over real rows: R has closing prices as they came, S traded volumes of earlier days.

    Rows join on the stock's symbol. The last R_ROWS quotes and the events after them are R's; of what came before, S
    has S_ROWS quotes of JOINING_KEYS symbols. Prices and volumes differ by orders of magnitude between stocks, so
    their logarithms are spread over the domain.
    """
    symbols, prices, volumes = _quotes()
    start = len(symbols) - R_ROWS - events
    rng = np.random.default_rng([seed, 2])
    rated = rng.permutation(symbols.max() + 1)[:JOINING_KEYS]
    earlier = np.flatnonzero(np.isin(symbols[:start], rated))
    chosen = np.sort(rng.choice(earlier, S_ROWS, replace=False))
    return replace(
        select_joins(subscriptions, 0, seed),
        s_keys=symbols[chosen], s_values=volumes[chosen], r_keys=symbols[start:], r_values=prices[start:],
    )  # fmt: skip


@lru_cache(maxsize=1)
def _quotes() -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Numbered symbols, prices and volumes on the domain, in order of days."""
    folder = Path(os.environ.get(FOLDER, DEFAULT))
    if not folder.is_dir():
        raise FileNotFoundError(f"there are no stock quotes in {folder}: name their folder in ${FOLDER}")
    quotes = stock_quotes(folder).events
    dates = quotes["date"].combine_chunks().dictionary_encode()
    days = [datetime.strptime(day, "%d-%b-%y").replace(tzinfo=UTC).toordinal() for day in dates.dictionary.to_pylist()]
    order = np.argsort(np.array(days)[dates.indices.to_numpy()], kind="stable")
    symbols = quotes["symbol"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    prices, volumes = (_spread(quotes[name].to_numpy()) for name in ("close", "volume"))
    return symbols[order], prices[order], volumes[order]


def _spread(numbers: Floats) -> Floats:
    """Logarithms scaled to the domain, all but the lowest and the highest hundredth."""
    logs = np.log(np.maximum(numbers, 1e-2))
    low, high = np.quantile(logs, (0.01, 0.99))
    spread: Floats = ((logs - low) / (high - low) * DOMAIN).clip(0, DOMAIN)
    return spread
