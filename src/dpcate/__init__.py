"""Who benefits from a treatment, and by how much, with differential privacy."""
