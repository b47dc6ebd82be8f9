"""hk:said: phrases of questions for classes, predicates and paths."""

from __future__ import annotations

import pytest

from hybridkg.entities.profile.paths import Sequence, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.errors import ProfileError

HEAD = """@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix e: <http://e/> .
<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path e:t ] ) .
"""


def read(tmp_path, text):
    file = tmp_path / "p.ttl"
    file.write_text(HEAD + text)
    return load_profile(file)


def test_phrases_belong_to_a_class_a_predicate_or_a_path(tmp_path):
    profile = read(
        tmp_path,
        'e:Paper hk:said "study" , "paper" . [ sh:inversePath e:cites ] hk:said "cited by" . '
        '( [ sh:inversePath e:writes ] e:at ) hk:said " people   at " .',
    )
    writes, at, cites = (ShaclPredicate(f"http://e/{name}") for name in ("writes", "at", "cites"))
    assert dict(profile.said) == {
        ShaclPredicate("http://e/Paper"): ("paper", "study"),
        ShaclInverse(cites): ("cited by",),
        Sequence((ShaclInverse(writes), at)): ("people at",),
    }
    assert Profile.from_json(profile.to_json()) == profile


def test_a_profile_without_phrases_is_stored_as_before(tmp_path):
    assert '"said"' not in read(tmp_path, "").to_json()


def test_an_empty_phrase_is_an_error(tmp_path):
    with pytest.raises(ProfileError, match="hk:said has an empty phrase"):
        read(tmp_path, 'e:Paper hk:said " " .')
