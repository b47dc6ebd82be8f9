"""The query language of MATCH: from its text to weighted items over known fields."""
