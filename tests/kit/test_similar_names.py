"""Names that a person may have meant."""

from fairlead.kit.similar_names import find_similar


def test_the_nearest_name_comes_first_and_a_far_one_not_at_all():
    known = ["PROJECTS", "FAIRLEAD_HTTP_PORT", "FAIRLEAD_HTTP_HOST"]
    assert find_similar("FAIRLEAD_HTTP_PORTS", known, 2) == ["FAIRLEAD_HTTP_PORT", "FAIRLEAD_HTTP_HOST"]
    assert find_similar("FAIRLEAD_HTTP_PORTS", known) == ["FAIRLEAD_HTTP_PORT"]
    assert find_similar("FAIRLEAD_HTTP_PORTS", known, cutoff=0.99) == []
    assert find_similar("something else", known) == []
