"""Run the benchmarks: ``python -m benchmarks.run [question ...] [--quick]``; all questions by default.

Results go to ``benchmarks/results``; a quick run prints its page and writes nothing.
"""

from __future__ import annotations

import argparse

from benchmarks import (
    accuracy,
    average_cases,
    average_tuning,
    average_width,
    coverage,
    ebm_vs_interpret,
    gotv,
    limit,
    planner,
    published_check,
    rare_outcomes,
    scale,
    speed,
    tuning,
)

QUESTIONS = {
    "accuracy": accuracy.run,
    "speed": speed.run,
    "limit": limit.run,
    "gotv": gotv.run,
    "planner": planner.run,
    "tuning": tuning.run,
    "ebm_vs_interpret": ebm_vs_interpret.run,
    "published_check": published_check.run,
    "scale": scale.run,
    "coverage": coverage.run,
    "average_width": average_width.run,
    "average_tuning": average_tuning.run,
    "average_cases": average_cases.run,
    "rare_outcomes": rare_outcomes.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("questions", nargs="*", help=f"any of: {', '.join(QUESTIONS)}")
    parser.add_argument("--quick", action="store_true", help="few repeats, nothing written")
    options = parser.parse_args()
    unknown = set(options.questions) - set(QUESTIONS)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    for name in options.questions or QUESTIONS:
        report = QUESTIONS[name](quick=options.quick)
        print(report.text if options.quick else f"{name}: {report.write()}")


if __name__ == "__main__":
    main()
