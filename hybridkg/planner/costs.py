"""What each way to run a ranking is expected to cost, in microseconds, before anything has run.

The candidate set is the unknown: its size comes from the projection with two bounds. The matching entities of a MATCH
are known to the posting. What the graph and the text have to do with each other is not known, and it decides: words
that belong to the filter leave ten times as many entities as chance would, words of another subject none. So a cost is
the mean over three cases (CORRELATIONS), and a plan that is cheap in one of them and ruinous in another loses to one
that is fair in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

from hybridkg.interfaces.graph_index import Size
from hybridkg.operators.rank_first import DEEPER, LEAST_DEPTH
from hybridkg.operators.rank_join import FIRST_DEPTH
from hybridkg.operators.text_join import FEW_MATCHES, MATCHES_PER_PROBE
from hybridkg.planner.cost_inputs import CORRELATIONS, Fixed, Graph, graph_of, joined
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranking import Ranking
from hybridkg.query import ast

OPERATORS = 4
"""Operators of a ranked plan beside those of its fragments and MATCHes: LIMIT, projection, order, choice of rows."""

EXACTLY = 1.5
"""To compare vectors exactly takes so many times as long as to do it up to an error: 1.4 on one core."""

ALMOST = 1.0 - 1e-9
"""Times a sum: not more than the same sum in another order, whatever the rounding."""

UNPRICED = Size(0.0, inf, inf)
"""Of a way that does not apply."""


def unpriced(*_: object) -> Size:
    """Nobody knows."""
    return UNPRICED


def costs_of(ranking: Ranking, planning: Planning) -> Costs:
    """What the ways to run a ranking cost; found out once."""
    known: Costs | None = planning.costs.get(id(ranking))
    if known is None:
        known = planning.costs[id(ranking)] = Costs(ranking, planning)
    return known


class Costs:
    """What each way to run a ranking is expected to cost.

    In few functions: after another query has run, little is left in the processor's caches of what each of them needs.

    Args:
        ranking: the plan, taken apart.
        planning: sizes and unit costs; it keeps this, so this does not keep it.
    """

    def __init__(self, ranking: Ranking, planning: Planning):
        self._ranking, self._cost, self._switching = ranking, planning.cost, planning.switching
        fixed = planning.fixed((id(ranking), "costs"), lambda: Fixed.of(ranking, planning))
        self._asked, self._is_fused, only_texts, self._is_far, self._entities, scored = fixed
        self._n = max(self._entities, 1.0)
        self._k = float(ranking.k or 0)
        self._joined_lists: list[float] = []
        for match in ranking.spine.matches:
            self._joined_lists.append(float(planning.most(match.match)))
        self._lists = [*map(self._joined_lists.__getitem__, scored)]
        """No fewer entities match, for each scored MATCH."""
        self._agreed = planning.agreed(ranking) if self._is_far else None
        self._first = self._joined_lists[0] if self._agreed is None else self._agreed.most
        """The same for the first MATCH, with what goes along with it to an index that is far away."""
        self._looked_at = [self._first] if scored == (0,) else self._lists
        """The same as `_lists` for a plan that reads the best first: of one alone, with what goes along with it."""
        self._reads = self._lists if only_texts else [planning.read(match.match) for match in ranking.scored]
        """Postings that its best are found among, for each of them."""
        self._optional = [float(planning.most(match.match)) for match in ranking.optional] if ranking.optional else []
        """The same as `_lists` of those that OPTIONAL adds."""
        self._filters = [float(planning.most(match.match)) for match in ranking.filters] if ranking.filters else []
        is_text, text, limit = isinstance(ranking.spine.matches[0].match, ast.Match), planning.text, None
        if text is not None:
            limit = text.text_limit if is_text else text.scan_limit
        self._is_too_long = limit is not None and self._first > limit
        """Whether an index that is far away has so many matches that the graph goes first (operators/text_join.py)."""
        self._graphs: dict[str, Graph] = {}
        for variable in ranking.spine.variables:
            self._graphs[variable] = graph_of(
                ranking, variable, planning, self._entities, self._filters, self._scored_us, self._least_of(variable)
            )
        self._in_store = any(one is None for graph in self._graphs.values() for one, *_ in graph.patterns)
        self._compared: list[float] = []
        """Of each list that is fused: what it takes to compare the candidates with a NEAR, in postings."""
        if self._is_fused:
            among = self._graphs[ranking.variables[0]].size.guess if ranking.is_restricted else self._n
            for match, most in zip(ranking.scored, self._lists, strict=True):
                among = min(among, most) if isinstance(match.match, ast.Match) else among
            for match in (*ranking.scored, *ranking.optional):
                self._compared.append(planning.read(match.match, among) if isinstance(match.match, ast.Near) else 0.0)
        self._rows: dict[str, float] = {}
        self._each: dict[str, float] = {}
        self._cases: list[tuple[float, float]] = []
        """(entities that satisfy the graph and match every scored text, what is left to do once they are chosen)."""
        self.filter_first = self.filtered_topk = UNPRICED
        self._bind_join: Size | None = None
        if len(ranking.variables) == 1:
            graph = self._graphs[ranking.variables[0]]
            read = self._reads[0] if only_texts else planning.read(ranking.scored[0].match, graph.size.guess)
            self._price_candidates(graph, read)

    def _least_of(self, variable: str) -> float:
        """How many entities of a variable match the rarest of its texts; for one without a text, the first of all."""
        least = [self._first]
        for match, most in zip(self._ranking.spine.matches, self._joined_lists, strict=True):
            least += [most] if match.match.entity.name == variable else []
        return min(least)

    def _rows_each(self, variable: str) -> float:
        """Rows of the patterns for one entity; not every price takes it."""
        rows = self._rows.get(variable)
        if rows is None:
            rows = 1.0
            for prepared, entities, in_store in self._graphs[variable].patterns:
                if prepared is None:
                    rows *= in_store
                elif len(prepared.variables) > 1:
                    rows *= max(1.0, prepared.size().guess / max(entities, 1.0))
            self._rows[variable] = rows
        return rows

    def _each_us(self, variable: str) -> float:
        """To find out about one entity, asked with others; not every price takes it."""
        us = self._each.get(variable)
        if us is None:
            cost, us = self._cost, 0.0
            for prepared, *_ in self._graphs[variable].patterns:
                if prepared is None:
                    us += cost.us_per_probe_in_store
                else:
                    us += prepared.work_each(variable) * cost.us_per_adjacency_entry
            for match, most in zip(self._ranking.filters, self._filters, strict=True):
                if match.match.entity.name == variable:
                    us += self._scored_us(1.0, min(1.0, most / self._n))
            self._each[variable] = us
        return us

    def _price_candidates(self, graph: Graph, read: float) -> None:
        """Finds `filter_first`, to find the candidate set and to score it, and `filtered_topk`, to rank it in the
        index; and the cases.

        Args:
            graph: of the one ranked variable.
            read: postings that the best of the candidates are found among.
        """
        ranking, cost, lists, scored = self._ranking, self._cost, self._lists, len(self._lists)
        most = float(ranking.k or 0) if ranking.k is not None and ranking.value is not None else inf
        variable, asked = ranking.variables[0], self._asked
        whole, each = self._once_us(asked), self._row_us(variable, asked)
        each *= self._rows_each(variable) if asked else 1.0
        matching = lists[0]
        if scored > 1:
            matching, *others = sorted(lists)
            for one in others:  # as if the texts had nothing to do with each other
                matching *= min(1.0, one / self._n)
        before = masked = graph.whole_us + graph.question_us - graph.known_us
        before += scored * cost.us_per_text_scoring
        each_scored = 0.0
        if ranking.is_restricted:
            before += graph.size.guess * scored * cost.us_per_scored_candidate
            each_scored = scored * cost.us_per_scored_posting if self._is_far else 0.0
        else:
            before += sum(lists) * cost.us_per_scored_posting
        before += EXACTLY * sum(self._compared) * cost.us_per_posting
        for most_added in self._optional:
            before += cost.us_per_text_scoring
            before += min(graph.size.guess * cost.us_per_scored_candidate, most_added * cost.us_per_scored_posting)
        masked = masked + cost.us_per_text_question + read * cost.us_per_posting
        masked += graph.size.guess * cost.us_per_masked_candidate
        k, hit = self._k or inf, cost.us_per_hit
        cases, scoring, ranked = self._cases, [], []
        agreed = self._agreed if self._agreed is not None and self._agreed.variable == variable else None
        for rows in joined(matching, graph.size, self._entities, agreed):
            rest = whole + each * min(rows, most)
            cases.append((rows, rest))
            scoring.append(before + rows * each_scored + rest)
            ranked.append(masked + min(rows, k) * hit + rest)
        self.filter_first = _mean(scoring)
        self.filtered_topk = self.filter_first if self._is_far else _mean(ranked)  # the same to a server

    @property
    def rank_first(self) -> Size:
        """To read the lists as deep as it takes and to ask the graph about what they bring; at most until as much is
        spent as the candidate set would cost, which then is found after all.
        """
        restricted, lists, k = self._ranking.is_restricted, self._looked_at, self._k or 1.0
        variable = self._ranking.variables[0] if restricted else None
        instead = inf
        if restricted and self._switching:  # the better way to score a candidate set
            instead = self.filter_first.guess
            if len(lists) == 1 and self._ranking.scored[0].match.top is None:
                instead = min(instead, self.filtered_topk.guess)
        longest = max(lists)
        spread = k if len(lists) == 1 else 4.0 * k  # the best of one list are seldom those of the other
        depth = max(LEAST_DEPTH, 2.0 * k)
        us = self._look_us(depth, lists, variable)
        found: list[float] = []
        for rows, rest in reversed(self._cases):  # the more entities there are, the earlier enough of them are seen
            wanted = longest if rows < spread else min(spread * longest / rows, longest)
            while depth < wanted and us <= instead:
                depth *= DEEPER
                us += self._look_us(depth, lists, variable)
            found.append(us + (rest if depth >= wanted else instead))
        return _mean(found[::-1])

    @property
    def threshold(self) -> Size:
        """To find the candidate set, and of each list what is known of it cheaply; then the best of them exactly."""
        if not self._is_fused:
            return self.rank_first
        if self._is_far:
            return UNPRICED
        cost, graph, us = self._cost, self._graphs[self._ranking.variables[0]], 0.0
        lists = self._lists + self._optional
        us += graph.whole_us + graph.question_us + cost.us_per_look
        for most, read in zip(lists, self._compared, strict=True):
            scored = min(graph.size.guess * cost.us_per_scored_candidate, most * cost.us_per_scored_posting)
            us += cost.us_per_text_scoring + (read * cost.us_per_posting if read else scored)
        depth = max(LEAST_DEPTH, 2.0 * self._k)
        us += len(lists) * (cost.us_per_text_scoring + len(lists) * depth * cost.us_per_scored_candidate)
        variable, asked = self._ranking.variables[0], self._asked
        each = self._row_us(variable, asked)
        us += self._once_us(asked) + each * self._k * (self._rows_each(variable) if asked else 1.0)
        return Size(us, us, us)

    @property
    def rank_first_least(self) -> float:
        """What that takes if one look is enough."""
        restricted, cost = self._ranking.is_restricted, self._cost
        depth = max(LEAST_DEPTH, 2.0 * (self._k or 1.0))
        us = cost.us_per_look + self._lists_us(depth, self._looked_at) + self._cases[0][1]
        return ALMOST * (us + self._graphs[self._ranking.variables[0]].question_us if restricted else us)

    @property
    def threshold_least(self) -> float:
        """The same of `threshold`."""
        return 0.0 if self._is_fused else self.rank_first_least

    def _look_us(self, depth: float, lists: Sequence[float], variable: str | None) -> float:
        """One look at the best of some lists, and what it takes to test and score what it brings."""
        cost, fresh = self._cost, 0.0
        us = cost.us_per_look + self._lists_us(depth, lists)
        for most in lists:
            fresh += min(depth, most)
        fresh *= 1.0 - 1.0 / DEEPER
        if variable is not None:
            graph = self._graphs[variable]
            us += graph.question_us + min(fresh * self._each_us(variable), graph.whole_us)
        if len(lists) > 1:
            us += len(lists) * (cost.us_per_text_scoring + self._scored_us(fresh, fresh / len(lists)))
        return us

    def _lists_us(self, depth: float, lists: Sequence[float]) -> float:
        """To read the scored relations so deep, of which so many entities match."""
        cost, us = self._cost, 0.0
        for most, read in zip(lists, self._reads, strict=True):
            us += cost.us_per_text_question + read * cost.us_per_posting + min(depth, most) * cost.us_per_hit
        return us

    @property
    def rank_join(self) -> Size:
        """To read the lists, deeper than k, and to join what they bring."""
        graphs = [self._graphs[variable] for variable in self._ranking.variables]
        cost, k, n, lists = self._cost, self._k or 1.0, self._n, self._lists
        sizes = [self._graphs[name].size.guess * self._rows_each(name) for name in self._ranking.variables]
        linked = max(1.0, min(sizes))
        instead = self.bind_join.guess if self._switching else inf
        fragments = len(self._ranking.spine.fragments)
        whole, each = self._once_us(fragments), self._row_us(self._ranking.variables[0], fragments)
        each_us = [self._each_us(variable) for variable in self._ranking.variables]
        # The store is asked about each list, the projection about both at once.
        together = sum if self._in_store else min
        rows_each = self._rows_each(self._ranking.variables[0]) if self._in_store else 0.0
        questions_us, longest = (sum if self._in_store else max)([graph.question_us for graph in graphs]), max(lists)
        found = []
        for factor in CORRELATIONS:
            # So deep in both lists there are k pairs; to be sure that no other is better takes another look.
            wanted = min(DEEPER * n * sqrt(k / (linked * factor)), longest)
            depth, us = max(LEAST_DEPTH, FIRST_DEPTH * k), 0.0
            while True:
                read = [min(depth, most) for most in lists]
                us += cost.us_per_look + questions_us
                us += together([ids * us_each for ids, us_each in zip(read, each_us, strict=True)])
                us += self._lists_us(depth, lists)
                pairs = linked * factor
                for ids in read:
                    pairs *= ids / n
                us += whole + max(pairs, read[0] * rows_each) * each
                if depth >= wanted:
                    break
                if us > instead:
                    us += instead
                    break
                depth *= DEEPER
            found.append(us)
        return _mean(found)

    @property
    def bind_join(self) -> Size:
        """To read every relation to its end and to make rows of all that joins."""
        if self._bind_join is None:
            self._bind_join = self._priced_bind_join()
        return self._bind_join

    def _priced_bind_join(self) -> Size:
        cost, spine, (most, *others), first = self._cost, self._ranking.spine, self._joined_lists, self._first
        graph = self._graphs[spine.variables[0]]
        before = cost.us_per_text_scoring + self._first_us
        asked = set[int]()
        for variable, own in self._graphs.items():
            fragments = set(map(id, self._ranking.by_variable[variable]))
            if self._in_store and fragments <= asked:
                continue  # the store is asked once for the rows of a pattern
            asked |= fragments
            asked_us = first * self._each_us(variable)
            if self._is_too_long:  # so many rows of the store have come before it is known that there are more
                asked_us = asked_us + first * cost.us_per_store_row if self._in_store else own.whole_us
            before += min(own.whole_us, asked_us)
        if spine.leading > 1:  # the second one scores rows of the first, not ids
            before += most * (cost.us_per_row_of_terms + cost.us_per_row_passed)
        whole, each = self._once_us(len(spine.fragments)), self._row_us(spine.variables[0], len(spine.fragments))
        rows_each, found = self._rows_each(spine.variables[0]), []
        for entities in joined(most, self._of_fragments(graph), self._entities, self._agreed):
            rows = entities * rows_each
            us = before + (whole + rows * each)
            for own_most in others:
                us += self._looked_up_us(rows, own_most)
                rows *= min(1.0, own_most / self._n)
            for own_most in self._optional:
                us += self._looked_up_us(rows, own_most)
            found.append(us)
        return _mean(found)

    @property
    def _first_us(self) -> float:
        """To read all that match the first MATCH, or to score what the graph has where these are too many."""
        read = self._first * self._cost.us_per_scored_posting
        if not self._is_too_long:
            return read
        return min(read, self._scored_us(self._graphs[self._ranking.spine.variables[0]].size.guess, 0.0))

    @property
    def bind_join_least(self) -> float:
        """What that takes even if nothing joins."""
        cost, spine, most = self._cost, self._ranking.spine, self._joined_lists[0]
        us = cost.us_per_text_scoring
        us += self._first_us + self._once_us(len(spine.fragments))
        if spine.leading > 1:
            us += most * (cost.us_per_row_of_terms + cost.us_per_row_passed)
        return ALMOST * us

    def _of_fragments(self, graph: Graph) -> Size:
        """The candidate set without the filters by text."""
        share = 1.0
        for most in self._filters:
            share *= min(1.0, max(most, 1.0) / self._n)
        guess = min(graph.size.guess / share, self._entities)
        return Size(graph.size.low, guess, max(graph.size.high, guess))

    def _looked_up_us(self, entities: float, most: float) -> float:
        """To score some entities, or all that match where these are not many times as many."""
        cost = self._cost
        if self._is_far and most <= FEW_MATCHES:
            return most * cost.us_per_scored_posting  # asked for together with the first relation
        if self._is_far or entities * MATCHES_PER_PROBE < most:
            return cost.us_per_text_scoring + self._scored_us(entities, entities * min(1.0, most / self._n))
        return cost.us_per_text_scoring + most * cost.us_per_scored_posting

    @property
    def text_topk(self) -> Size:
        """To ask the index for its best."""
        us = self._cost.us_per_text_question + sum(self._reads) * self._cost.us_per_posting
        return Size(us, us, us)

    def _scored_us(self, entities: float, matching: float) -> float:
        """To score some entities: of a server, each that matches is a row that comes back."""
        us = entities * self._cost.us_per_scored_candidate
        return us + matching * self._cost.us_per_scored_posting if self._is_far else us

    def _once_us(self, fragments: int) -> float:
        """What asking for rows of some fragments, and the operators above the choice of the entities, take once."""
        operators = OPERATORS + fragments + len(self._ranking.spine.matches)
        question_us = self._cost.us_per_store_question if self._in_store else self._cost.us_per_graph_question
        return fragments * question_us + operators * self._cost.us_per_operator

    def _row_us(self, variable: str, fragments: int) -> float:
        """What they take for each row."""
        cost = self._cost
        us = (OPERATORS + fragments + len(self._ranking.spine.matches)) * cost.us_per_row_passed
        return us + (fragments * cost.us_per_row_of_terms + self._each_us(variable)) if fragments else us


def _mean(costs: list[float]) -> Size:
    return Size(min(costs), sum(costs) / len(costs), max(costs))
