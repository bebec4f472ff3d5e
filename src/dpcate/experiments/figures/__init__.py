"""The paper's three figures, drawn from what was measured; each is written as PNG and SVG."""

__all__: list[str] = []
