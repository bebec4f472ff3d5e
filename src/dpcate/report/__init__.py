"""What the public gets: the privacy card, the report page, and the release folder that holds both.

Everything here reads a fitted learner, hence released numbers and public facts only; no table can reach this package.
"""

from dpcate.report.card import check_card, make_card
from dpcate.report.page import render_report
from dpcate.report.release import check_release_folder, write_release

__all__ = ["check_card", "check_release_folder", "make_card", "render_report", "write_release"]
