"""A profile that the content of a graph suggests: figures of its predicates, a choice by rules, a commented file."""
