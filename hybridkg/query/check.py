"""stub"""
from hybridkg.query import ast
def check(query: ast.Query) -> None:
    pass
