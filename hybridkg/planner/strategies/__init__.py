"""Strategies: each turns a logical plan into operators; all exact ones give the same rows in the same order."""
