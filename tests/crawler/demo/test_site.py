"""The amounts of the site."""


def test_site_has_the_planned_amounts(facts):
    sections = [name.partition(":") for name in facts["sections"]]
    categories = {category for category, _, _ in sections}

    assert len(facts["articles"]) >= 150
    assert len(categories) >= 3
    assert all(sum(bool(sub) for name, _, sub in sections if name == category) >= 2 for category in categories)
