"""How good the planner's choices are: regret against every other plan, in counted work and in time."""
