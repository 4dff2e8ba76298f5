"""Blocks, and the pages that repeat them."""

from web_answers import page_id


def test_texts_that_repeat_others_name_their_page_and_the_other_way_round(ask):
    copied = ask(f"/api/pages/{page_id(ask, 'https://lake.example.org/3')}").json
    origins = {text["of"]["id"] for text in copied["texts"] if text["of"]}
    assert origins
    own = ask(f"/api/pages/{min(origins)}").json
    assert copied["id"] in {copy["page"]["id"] for copy in own["copies"]}


def test_a_block_names_the_pages_that_repeat_it_and_how_they_differ(ask):
    largest = ask("/api/families").json["blocks"][0]
    block = ask(f"/api/blocks/{largest['block']}").json
    assert block["places"] == largest["size"] == sum(place["times"] for place in block["repetitions"])
    assert (
        len(block["repetitions"])
        == len({(place["page"]["id"], str(place["words"])) for place in block["repetitions"]})
        > 1
    )
    assert block["text"].startswith("The harbour office asks")
    assert {word["text"] for place in block["repetitions"] for word in place["words"] if word["change"] == "added"} <= {
        "always."
    }
    assert ask("/api/blocks/999999").json["problem"] == "there is no block 999999 in the database"
