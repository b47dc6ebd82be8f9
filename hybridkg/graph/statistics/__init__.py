"""What the planner knows of a knowledge base before it asks: counts, degrees, value histograms, characteristic sets."""
