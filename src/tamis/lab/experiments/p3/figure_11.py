"""Figure 11 of P3 (joins): network traffic for an event against the size of payload repositories (CN*)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.network import NETWORK, SUBSCRIPTIONS, carried, medians, over_seeds
from tamis.lab.experiments.p3.schemes import NAMES, STYLES
from tamis.lab.measuring import Check, Figure, Point, Row, Rows, Table, Verdict, axes_of, one

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
CN* has less traffic than CN for Ref-SJ-Clu⁺ and Ref-J⁺, even with small repositories. Ref-J⁺ gains more, having more
that is redundant; Ref-SJ-Clu⁺ is better overall. Without any repository the directory alone reduces traffic. A
repository of 400 entries lessens the server's stress 7 times for Ref-J⁺ and 3 times for Ref-SJ-Clu⁺. (Of the abstract:
another order of magnitude less traffic with almost no more latency.)"""

R_ROWS, PAYLOAD = 500, 1_000
REPOSITORIES = (0, 400, 3_100)
WARM_UP = {"ref-sj-clu+": 12_000, "ref-j+": 2_000}
EVENTS = 500
LESS = 5.0
SIZES = f"""\
{NETWORK}. {SUBSCRIPTIONS:,} subscriptions, R of {R_ROWS} rows, payloads of {PAYLOAD:,} bytes, directories of 512 kB
(16,384 entries), as in the paper. Measured over {EVENTS:,} events after {WARM_UP["ref-sj-clu+"]:,} (Ref-SJ-Clu⁺) or
{WARM_UP["ref-j+"]:,} (Ref-J⁺) others that fill the repositories; one seed. A payload's name is 20 bytes, an
acknowledgement 16; both are counted, and so is whatever is asked for."""
BY = ("scheme", "repository")


def points_for(r_rows: int, repositories: tuple[int, ...]) -> list[dict[str, object]]:
    common = {"r_rows": r_rows, "payload": PAYLOAD, "counting": True, "events": EVENTS}
    found: list[dict[str, object]] = []
    for scheme, warm_up in WARM_UP.items():
        # Without repositories nothing is remembered, so that nothing has to be filled but the tables.
        found += [
            {**common, "scheme": scheme, "repository": repository, "warm_up": warm_up}
            for repository in ("none", *map(str, repositories))
        ]
    return [*found, {**common, "scheme": "rel-sel", "repository": "none", "warm_up": WARM_UP["ref-sj-clu+"]}]


def grid(scale: float) -> list[Point]:
    return over_seeds(points_for(R_ROWS, REPOSITORIES), scale)


def lines(axes: object, rows: Rows, number: str) -> None:
    """Draws a line a scheme over repository sizes, and a dashed one for CN without repositories."""
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    ours = medians(rows, BY)
    for name in WARM_UP:
        style = STYLES[name]
        kept = [row for row in ours if row["scheme"] == name and row["repository"] != "none"]
        kept.sort(key=lambda row: int(row["repository"]))
        axes.plot(
            [int(row["repository"]) for row in kept], [row[number] for row in kept],
            color=style.colour, marker=style.marker, label=f"{style.label}, CN*",
        )  # fmt: skip
    for name in (*WARM_UP, "rel-sel"):
        without = one(ours, scheme=name, repository="none")[number]
        axes.axhline(without, color=STYLES[name].colour, linestyle="--", label=f"{NAMES[name]}, CN")


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    lines(axes, rows, "kilobytes")
    sizes = [row["kilobytes"] for row in medians(rows, BY)]
    axes.set_ylim(min(sizes) / 2, max(sizes) * 2)
    axes_of(axes, x="entries of a repository", y="kB between nodes for an event", title="Network traffic", log="y")
    picture.legend(loc="outside right upper", frameon=False)


def table(rows: Rows) -> Table:
    return Table(
        ["scheme", "repository", "traffic, kB", "server, kB", "asks", "hop latency"],
        [
            [
                NAMES[row["scheme"]], "CN" if row["repository"] == "none" else f"{int(row['repository']):,}",
                f"{row['kilobytes']:,.0f}", f"{row['server'] / 1000:,.1f}", f"{row['asks']:,.1f}",
                f"{row['hop_latency']:.2f}",
            ]
            for row in medians(rows, BY)
        ],
    )  # fmt: skip


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows, BY)

    def ratio(scheme: str, repository: int, number: str) -> float:
        some: Row = one(ours, scheme=scheme, repository=str(repository))
        return float(one(ours, scheme=scheme, repository="none")[number] / some[number])

    alone = {name: ratio(name, 0, "bytes") for name in WARM_UP}
    checks = [
        Check(f"{NAMES[name]}, CN ÷ CN* without repository", "> 1", f"{less:.1f}", less > 1)
        for name, less in alone.items()
    ]
    clu, join = (ratio(name, 400, "bytes") for name in WARM_UP)
    checks.append(Check("Ref-SJ-Clu⁺, CN ÷ CN* at 400", f"(ours: ≥ {LESS:g})", f"{clu:.1f}", clu >= LESS))
    largest = ratio("ref-sj-clu+", REPOSITORIES[-1], "bytes")
    checks.append(
        Check(f"the same at {REPOSITORIES[-1]:,}", f"about 10 (ours: ≥ {LESS:g})", f"{largest:.1f}", largest >= LESS)
    )
    checks.append(Check("Ref-J⁺, CN ÷ CN* at 400", "gains more", f"{join:.1f}", join > clu))
    better = min(
        one(ours, scheme="ref-j+", repository=str(size))["bytes"]
        / one(ours, scheme="ref-sj-clu+", repository=str(size))["bytes"]
        for size in REPOSITORIES
    )
    checks.append(Check("Ref-J⁺ ÷ Ref-SJ-Clu⁺ in CN*", "> 1", f"{better:.1f} at least", better > 1))
    for name, said in (("ref-j+", 7), ("ref-sj-clu+", 3)):
        stress = ratio(name, 400, "server")
        checks.append(
            Check(f"{NAMES[name]}, server's stress in CN ÷ CN* at 400", str(said), f"{stress:.2f}", stress >= said / 2)
        )
    return Verdict(checks, WHY)


WHY = (
    "A payload goes over a link once, so what is left is names, new rows of R, and payloads that nodes have to ask for "
    "because they have dropped them. The last decide. In our reading of the workload most rows of S lie where few "
    "ranges of C are, and the zones there are wide: nodes there want one to three thousand different payloads, and "
    "with 400 entries they drop most of these before they want them again. With 3,100 they ask for hardly any. They "
    "ask the last node on the way that has it, which mostly is the server, hence its stress. Measuring after so many "
    "events favours CN*: a network that has just begun has to carry each payload over each link first, and saves "
    "little. In trials with plain LRU, traffic was 1.3 times less over events 500 to 2,000, and 4 times less after "
    "24,000. Of two sizes of R that were tried, this one, the paper's, misses the bar, and 200 rows (Figure 12) reach "
    "it."
)

FIGURE = Figure(
    "p3/figure-11", "network traffic against the size of repositories", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=carried, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
