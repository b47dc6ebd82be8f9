"""Real input that is always there: the Python packages of the running environment, and queries over them."""
