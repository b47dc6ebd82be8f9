"""Statistics of a graph for the planner: counts, degrees, value histograms, characteristic sets."""
