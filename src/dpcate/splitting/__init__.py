"""Private coins, parts, and the plan that says which stage reads which part."""

from dpcate.splitting.coins import public_generator, public_points, row_parts
from dpcate.splitting.plan import Plan

__all__ = ["Plan", "public_generator", "public_points", "row_parts"]
