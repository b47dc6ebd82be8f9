"""The functions of RANK BY that read every surviving score."""
