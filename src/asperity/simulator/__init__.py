"""What a user calls: `Simulator`, `simulate` and the drop-in `step`."""

from asperity.simulator.current_contacts import Contact, Contacts
from asperity.simulator.drop_in import step
from asperity.simulator.history import History
from asperity.simulator.recorder import Recorder
from asperity.simulator.report import Report, Statistics
from asperity.simulator.simulation import simulate
from asperity.simulator.simulator import Simulator
from asperity.simulator.trajectory import Trajectory

__all__ = [
    "Contact",
    "Contacts",
    "History",
    "Recorder",
    "Report",
    "Simulator",
    "Statistics",
    "Trajectory",
    "simulate",
    "step",
]
