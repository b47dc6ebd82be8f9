"""Random queries whose time is held against the sum of their parts."""
