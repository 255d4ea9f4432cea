"""What a user calls: `Simulator`, `simulate` and the drop-in `step`."""

from asperity.simulator.current_contacts import Contacts
from asperity.simulator.drop_in import step
from asperity.simulator.report import Report, Statistics
from asperity.simulator.simulator import Simulator
from asperity.simulator.trajectory import Recorder, Trajectory, simulate

__all__ = [
    "Contacts",
    "Recorder",
    "Report",
    "Simulator",
    "Statistics",
    "Trajectory",
    "simulate",
    "step",
]
