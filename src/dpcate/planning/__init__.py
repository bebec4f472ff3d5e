"""Planning before spending: what a release would show, simulated from public facts and assumptions alone."""

from dpcate.planning.release import Expected, Planned, plan_release
from dpcate.planning.world import Assumptions

__all__ = ["Assumptions", "Expected", "Planned", "plan_release"]
