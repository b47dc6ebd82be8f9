"""Learning the parameters of a ranking model from judged topics."""
