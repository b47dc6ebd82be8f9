"""Physical operators: one file each; every one estimates, runs and describes itself."""
