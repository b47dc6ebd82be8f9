"""Write transactions on a knowledge base: load, index, migrate, prune, calibrate."""
