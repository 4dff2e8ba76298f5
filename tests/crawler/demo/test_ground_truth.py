"""The statements of the ground truth, recomputed from the site itself."""

from crawler.demo.pages import site_replies


def test_every_noise_marker_is_on_some_page_and_in_no_block(site, facts, blocks):
    pages = " ".join(reply.body.decode("utf-8", "replace") for reply in site_replies(site).values())
    content = " ".join([*blocks.values(), *(a["title"] for a in facts["articles"])]).casefold()

    for noise in facts["noise"]:
        assert noise["marker"] in pages
        assert noise["marker"].casefold() not in content
