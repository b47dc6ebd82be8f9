"""The facade without a query language: search, questions, and the explorer of nodes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.errors import UserError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb.reading import ReadableKnowledgeBase
from hybridkg.rdf.terms import Node
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.asking.interpretation import Interpretation
    from hybridkg.asking.weights import QuestionWeights
    from hybridkg.kb.nodes.node_view import NodeView
    from hybridkg.kb.search.result import SearchResult
    from hybridkg.kb.skb.figures import SkbFigures


class ExplorableKnowledgeBase(ReadableKnowledgeBase):
    """The methods that make their queries themselves; KnowledgeBase adds care, opening and writing."""

    def search(
        self,
        text: str,
        *,
        types: str | Sequence[str] = (),
        where: str | Sequence[str] = (),
        facets: bool = False,
        limit: int = 10,
        near: bool = False,
        query_string: bool = False,
        language: str = "",
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> SearchResult:
        """Searches for entities by plain words: one hit for each, with label, types, passage, score and reasons.

        `result.query` is the HybridQL that ran.

        Args:
            text: the words; no sign in them is an operator.
            types: classes, of which an entity has at least one: IRIs, prefixed names, local names or labels.
            where: conditions, predicates and objects of the entity: `:platform "Linux" ; :year ?y . FILTER(?y > 2018)`.
                Well-known prefixes, and those that `result.query` shows, need no declaration.
            facets: whether to count all entities that match the words, by type and by properties of few values.
            limit: maximum number of hits, up to 10,000.
            near: whether the similarity of vectors counts as well, by `rrf`.
            query_string: whether the text is a query string, with operators such as `+must -not "a phrase"`.
            language: tag of the language of the text; empty for English.
            timeout: seconds for each query, 0 for no limit; default: that of kb.toml.
            cancel: ends the search when another thread sets it.

        Raises:
            IndexMissingError: there is no text index, or with `near` there are no vectors.
            UnknownNameError: no class of that name, or several.
            HybridkgError: a condition is malformed, with its place; or as for `query`.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from hybridkg import KnowledgeBase
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> _ = kb.update('INSERT DATA { <http://e/f> <http://www.w3.org/2000/01/rdf-schema#label> "a red fish" }')
        >>> [(hit.label, hit.passage) for hit in kb.search("fishes")]
        [('a red fish', 'a red **fish**')]
        """
        from hybridkg.kb.search.run import SearchOptions, search

        kinds = (types,) if isinstance(types, str) else tuple(types)
        conditions = (where,) if isinstance(where, str) else tuple(where)
        options = SearchOptions(
            kinds, conditions, facets, limit, near, query_string, language, timeout=timeout, cancel=cancel
        )
        return search(self, text, options)

    def interpret(
        self,
        question: str,
        *,
        limit: int = 100,
        weights: QuestionWeights | str | Path | None = None,
        parser: str = "rules",
        model: str = "",
        timeout: float | None = None,
    ) -> Interpretation:
        """Reads a question in plain words as HybridQL (docs/asking.md).

        Args:
            question: up to 10,000 characters.
            limit: LIMIT of the queries, up to 10,000.
            weights: learned ones (`hybridkg.asking.weights`), their file, or a name of the package, such as
                "stark-mag"; default: `DEFAULT_WEIGHTS`, the formulas alone.
            parser: "rules"; or "llm", where a language model names the parts of the question, and writes no query.
            model: of "llm", on the server in the table [reranking] of kb.toml.
            timeout: seconds, 0 for no limit; default: that of kb.toml.

        Raises:
            HybridkgError: the indexes are missing or older than the graph, or the question has no word or is too long.
            ModelServerError: the model does not answer in the wanted form.
            QueryStoppedError: the time is over.
        """
        from hybridkg.kb.asking import interpreted, question_time

        time = question_time(self, timeout)
        return interpreted(self, question, limit=limit, weights=weights, parser=parser, model=model, time=time)

    def ask(
        self,
        question: str,
        *,
        strict: bool = False,
        limit: int = 100,
        timeout: float | None = None,
        weights: QuestionWeights | str | Path | None = None,
        parser: str = "rules",
        model: str = "",
    ) -> ResultSet:
        """Answers a question in plain words: the rows of the query that `interpret` makes of it; arguments as there.

        The timeout is one of interpretation and query together.

        Raises:
            QueryStoppedError: the time is over.
            UserError: with `strict`, the question has no constraint, or no node satisfies all.
        """
        from hybridkg.kb.asking import answered, interpreted, query_of, question_time

        time = question_time(self, timeout)
        found = interpreted(self, question, limit=limit, weights=weights, parser=parser, model=model, time=time)
        return answered(self, query_of(found, strict=strict), time)

    def node(self, name: str | Node, *, limit: int = 5, paths: str = "") -> NodeView:
        """Describes a node: label, types, texts, and relations in both directions with their first neighbours.

        Args:
            name: an IRI, a prefixed name, `_:LABEL` of a blank node, a whole label, or what follows the namespace of
                an entity, such as a node number of STaRK.
            limit: neighbours of each relation, texts of each property, and paths, from 1 to 1,000.
            paths: names of classes and predicates, divided by `>`, along which to walk: `author>paper`, `^writes`.

        Raises:
            UnknownNameError: no node has the name, or several; lists them. `paths` names what is not there.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from hybridkg import KnowledgeBase
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> _ = kb.update('INSERT DATA { <x:a> <http://xmlns.com/foaf/0.1/name> "Ann" . <x:b> <x:knows> <x:a> }')
        >>> found = kb.node("Ann")
        >>> found.iri, [(one.predicate, one.count) for one in found.incoming]
        ('<x:a>', [('x:knows', 1)])
        """
        from hybridkg.kb.nodes.node_view import view_node
        from hybridkg.kb.nodes.resolve import resolve_node
        from hybridkg.kb.search.base import SearchedBase

        if type(limit) is not int or not 1 <= limit <= 1000:
            raise UserError(f"the limit of a node is a number from 1 to 1,000, not {limit!r}")
        base = SearchedBase(self, self._snapshot, {})
        return view_node(resolve_node(name, base), base, limit=limit, paths=paths)

    def document(self, name: str | Node, *, relations: bool = False, compact: bool = False) -> str:
        """The whole document of a node, as `hybridkg dataset stark --documents` stores it.

        Args:
            name: as for `node`.
            relations: whether the document has the relations of the node: text field `document_rel`, else `document`.
            compact: whether it is on one line, without the dashes of its list.

        Raises:
            UserError: the knowledge base has no such documents.
            UnknownNameError: no node has the name, or several; or this node has no document.
        """
        from hybridkg.kb.nodes.resolve import resolve_node
        from hybridkg.kb.search.base import SearchedBase
        from hybridkg.kb.stored_documents import stored_document

        node = resolve_node(name, SearchedBase(self, self._snapshot, {}))
        return stored_document(self._snapshot, node, relations=relations, compact=compact)

    def skb_figures(self, *, progress: Progress = SILENT) -> SkbFigures:
        """Entities, relations, degree, words and their entropy, altogether and by type, as STaRK's tables have them.

        Raises:
            UserError: no node has a type.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from hybridkg import KnowledgeBase
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> _ = kb.update('INSERT DATA { <x:a> a <x:A> ; <x:p> <x:b> ; <x:name> "a red fish" . <x:b> a <x:A> }')
        >>> found = kb.skb_figures()
        >>> found.entities, found.relations, found.degree, found.words["graph"].tokens
        (2, 1, 1.0, 3)
        """
        from hybridkg.kb.skb.figures import skb_figures

        return skb_figures(self._snapshot, progress)

    def token_vectors(
        self,
        out: Path | str,
        *,
        model: str = "",
        fields: str = "",
        form: str = "plain",
        max_length: int = 0,
        progress: Progress = SILENT,
    ) -> int:
        """Stores a vector for each token of each text, for the reranker `late` (docs/rerankers.md).

        Args:
            out: a folder, which gets the texts that it lacks.
            model: a name on the Hugging Face hub, or the path of a folder, which begins with `/`, `.` or `~`; default:
                the encoder of the vectors, if its tokens have vectors.
            fields: fields that are read, with commas; default: all.
            form: `plain`, or `compact` for one line without the dashes of lists.
            max_length: maximum tokens of a text; 0 for the model's own limit.
            progress: counts texts.

        Returns:
            Number of texts that were added.

        Raises:
            ConfigError: the folder has vectors of another model, or of other texts.
            HybridkgError: the model or a field is not there.
        """
        from hybridkg.kb.token_vectors import store_token_vectors

        return store_token_vectors(self._snapshot, Path(out), model, fields, form, max_length, progress)
