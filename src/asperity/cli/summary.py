"""The table at the end of a simulation."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from asperity.cli.runner import Run, format_step
from asperity.errors import Status

__all__ = ["print_summary"]

# From this share of the modulus on fields are nearly as deep as they get.
_DEEP = 0.8


def print_summary(console: Console, run: Run) -> None:
    """Print what a simulation did, what it cost and how well its contacts were kept."""
    trajectory, contacts = run.trajectory, run.contacts
    stats = trajectory.stats
    style = {Status.SUCCESS: "green", Status.INTERRUPTED: "yellow"}.get(trajectory.status, "red")
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()

    def row(label: str, text: str, style: str = "") -> None:
        table.add_row(label, Text(text, style=style))

    row("Status", f"{trajectory.status.name}: {trajectory.message}", style)
    row("Simulated", f"{run.begin:.6g} s to {trajectory.time[-1]:.6g} s")
    impacts = f", {stats.impact_rejections} of them for impacts" if stats.impact_rejections else ""
    row("Steps", f"{stats.steps} accepted, {stats.rejections} rejected{impacts}")
    if stats.rebounds:
        row("Rebounds", f"{stats.rebounds}, of impacts that these steps are too long for")
    sizes = run.step_sizes
    if sizes.size:
        # The last step ends at the requested time, so its size says nothing.
        smallest = format_step(float(sizes[: max(1, sizes.size - 1)].min()))
        largest = format_step(float(sizes.max()))
        median = format_step(float(sorted(sizes)[sizes.size // 2]))
        row("Step sizes", f"smallest {smallest}, median {median}, largest {largest}")
    row("Newton iterations", f"{stats.iterations} in {stats.solves} solves")
    row("Factorizations", str(stats.factorizations))
    if stats.evaluations:
        row("Evaluations", f"{stats.evaluations} of kinematics, collisions and forces")
    row("Wall time", f"{stats.wall_time:.3g} s ({run.rate:.3g} × real time)")
    if contacts.clearance is not None:
        row("Smallest clearance", f"{1e3 * contacts.clearance:.3g} mm: nothing intersected")
    if contacts.count:
        row(
            "Largest penetration",
            f"{1e3 * contacts.penetration:.3g} mm, at {contacts.penetration_time:.4g} s",
        )
    if contacts.share_of_modulus > 0.0:
        deep = contacts.share_of_modulus > _DEEP
        row(
            "Largest pressure",
            f"{100.0 * contacts.share_of_modulus:.2g} % of the modulus"
            + (": stiffer fields would overlap less" if deep else ""),
            "yellow" if deep else "",
        )
    if contacts.sticking:
        row(
            "Slip while sticking",
            f"median {contacts.median_slip:.2g} m/s, largest {contacts.largest_slip:.2g} m/s",
        )
    if not contacts.count and contacts.clearance is None:
        row("Contacts", f"none in the {contacts.states} states looked at")
    row("Energy", f"{run.energy_begin:.6g} J at the beginning, {run.energy_end:.6g} J at the end")
    console.print(table)
