"""Bytes to tree: encodings, size, nesting, hostile input."""

import csv
import gzip
import re
import resource

import pytest
from lxml import etree

from cleaning import PageError, PageFault, ParseWarning, parse
from cleaning.leaves import walk
from cleaning.parse import decode

CHINESE = (
    "<html><head><title>中文网页的标题</title></head><body><p>这是一个测试，内容应当可以正确读出。</p></body></html>"
)
FRENCH = "<p>Les élèves étudient à l’école près de la forêt où naît la rivière, très tôt, même l’été.</p>"


# A few sentences of a language that has an older encoding, and the encoding.
UNDECLARED = {
    "windows-1250": "Zażółć gęślą jaźń. Wczoraj wieczorem łódź wróciła do portu, a załoga zeszła na ląd i świętowała.",
    "windows-1251": "Вчера вечером корабль вернулся в порт, и команда сошла на берег. Погода была хорошая.",
    "koi8-r": "Вчера вечером корабль вернулся в порт, и команда сошла на берег. Погода была хорошая.",
    "ibm866": "Вчера вечером корабль вернулся в порт, и команда сошла на берег. Погода была хорошая.",
    "windows-1252": FRENCH,
    "windows-1253": "Χθες το βράδυ το πλοίο επέστρεψε στο λιμάνι και το πλήρωμα βγήκε στη στεριά. Ο καιρός ήταν καλός.",
    "windows-1254": "Dün akşam gemi limana döndü, mürettebat karaya çıktı. Çocuklar ağaçların altında uyuyor.",
    "windows-1255": "אתמול בערב חזרה הספינה לנמל והצוות ירד אל החוף. מזג האוויר היה נאה מאוד.",
    "windows-1256": "عادت السفينة مساء أمس إلى الميناء ونزل الطاقم إلى الشاطئ. كان الطقس جميلا جدا.",
    "shift_jis": "昨日の夕方、船は港に戻り、乗組員は上陸した。天気はとてもよかった。",
    "euc-jp": "昨日の夕方、船は港に戻り、乗組員は上陸した。天気はとてもよかった。",
    "iso-2022-jp": "昨日の夕方、船は港に戻り、乗組員は上陸した。天気はとてもよかった。",
    "euc-kr": "어제 저녁 배가 항구로 돌아왔고 선원들은 뭍에 내렸다. 날씨가 아주 좋았다.",
    "gb18030": "昨天晚上，船回到了港口，船员们上了岸。天气非常好，孩子们在树下玩耍。",
    "big5": "昨天晚上，船回到了港口，船員們上了岸。天氣非常好，孩子們在樹下玩耍。",
}


def text_of(page):
    return page.root.text_content()


def with_meta(page, charset):
    return page.replace("<head>", f'<head><meta charset="{charset}">')


def test_byte_order_mark_wins_over_header_and_meta():
    body = with_meta(CHINESE, "iso-8859-1").encode("utf-8-sig")
    page = parse(body, encoding="text/html; charset=gb2312")
    assert page.encoding == "utf-8"
    assert "正确读出" in text_of(page)
    assert "\ufeff" not in text_of(page)


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_by_its_mark(mark):
    page = parse("\ufeff".encode(mark) + CHINESE.encode(mark))
    assert page.encoding == mark
    assert "正确读出" in text_of(page)


def test_utf_16_without_mark_is_read_by_its_header():
    assert "正确读出" in text_of(parse(CHINESE.encode("utf-16-le"), encoding="utf-16-le"))


def test_header_wins_over_meta():
    body = with_meta("<html><head></head><body>" + FRENCH, "koi8-r").encode("cp1252")
    page = parse(body, encoding="text/html; charset=ISO-8859-1")
    assert page.encoding == "cp1252"
    assert "élèves" in text_of(page)


@pytest.mark.parametrize("header", ["big5", "text/html; charset=big5", 'text/html; charset="BIG5"'])
def test_header_may_be_a_label_or_the_whole_content_type(header):
    assert "測試" in text_of(parse("<p>這是測試</p>".encode("big5"), encoding=header))


def test_meta_is_read_where_the_header_is_silent():
    page = parse(with_meta(CHINESE, "big5").replace("这", "").encode("big5", "ignore"), encoding="text/html")
    assert page.encoding == "big5hkscs"


def test_meta_http_equiv_is_read():
    meta = '<meta http-equiv="Content-Type" content="text/html; charset=gb2312">'
    page = parse(CHINESE.replace("<head>", "<head>" + meta).encode("gb18030"))
    assert page.encoding == "gb18030"
    assert "正确读出" in text_of(page)


@pytest.mark.parametrize("label", ["gb2312", "GB2312", "gbk", "chinese"])
def test_gb2312_means_gb18030(label):
    # 镕 is in GBK but not in GB2312, 㐀 in GB18030 only.
    page = parse(f"<p>朱镕基 㐀</p><meta charset={label}>".encode("gb18030"), encoding=label)
    assert page.encoding == "gb18030"
    assert "朱镕基 㐀" in text_of(page)


def test_utf_16_in_a_meta_tag_means_utf_8():
    page = parse(with_meta(CHINESE, "utf-16").encode())
    assert page.encoding == "utf-8"
    assert "正确读出" in text_of(page)


def test_undeclared_utf_8_is_found():
    assert parse(CHINESE.encode()).encoding == "utf-8"


def test_undeclared_chinese_is_detected():
    page = parse((CHINESE * 5).encode("gb18030"))
    assert page.encoding == "gb18030"
    assert "正确读出" in text_of(page)


@pytest.mark.parametrize("label", UNDECLARED)
def test_the_encoding_of_a_page_that_declares_none_is_found(label):
    text = 2 * re.sub("</?p>", "", UNDECLARED[label])
    page = parse(f"<p>{text}</p>".encode(label))
    assert text_of(page) == text
    assert page.parse_warnings == ()


def test_a_page_of_quotation_marks_and_dashes_is_windows_1252():
    page = parse(("<p>It’s “their” market — not ours…</p>" * 20).encode("cp1252"))
    assert (page.encoding, page.parse_warnings) == ("cp1252", ())


HUNGARIAN = "<p>A tegnap este visszatért hajó legénysége partra szállt. Jó idő volt, az erdőben is.</p>"


@pytest.mark.parametrize(
    ("start", "url"),
    [("<html lang=hu>", None), ("<html>", "https://example.hu/"), ("<html lang='hu-HU'>", "https://x.de")],
)
def test_the_language_or_else_the_country_decides_between_latin_encodings(start, url):
    page = parse((start + HUNGARIAN).encode("cp1250"), url)
    assert "idő volt, az erdőben" in text_of(page)
    assert ParseWarning.CHARSET_IN_DOUBT in page.parse_warnings


@pytest.mark.parametrize("url", ["https://example.de/", "http://[broken/", "", "https://example.com/"])
def test_a_host_without_a_country_of_its_own_encoding_decides_nothing(url):
    assert text_of(parse(FRENCH.encode("cp1252"), url)) == FRENCH[3:-4]


def test_an_encoding_guessed_from_few_letters_is_in_doubt():
    assert parse("<p>Café</p>".encode("cp1252")).parse_warnings == (ParseWarning.CHARSET_IN_DOUBT,)


def test_halves_that_look_like_different_encodings_are_in_doubt():
    body = (UNDECLARED["koi8-r"] + "\n").encode("koi8-r") + UNDECLARED["windows-1253"].encode("cp1253")
    assert ParseWarning.CHARSET_IN_DOUBT in decode(body).parse_warnings


def test_markup_before_and_between_the_text_does_not_hide_it():
    markup = f"<script>{'a = 1; ' * 50_000}</script>"
    page = parse(f"{markup}<p>Вчера вечером</p>{markup}<p>корабль вернулся в порт</p>{markup}".encode("koi8-r"))
    assert text_of(page).endswith("порт" + markup[8:-9])
    assert "Вчера вечером" in text_of(page)


def test_declared_utf_8_with_a_japanese_escape_stays_utf_8():
    assert decode(b"<p>\x1b$B</p>", "utf-8").encoding == "utf-8"


def test_few_accented_letters_are_read_as_browsers_do():
    page = parse("<p>Café</p>".encode("cp1252"))
    assert page.encoding == "cp1252"
    assert text_of(page) == "Café"


def test_utf_8_declared_as_gb2312_is_read_as_utf_8_and_counted():
    page = parse(with_meta(CHINESE, "gb2312").encode())
    assert page.encoding == "utf-8"
    assert page.parse_warnings == (ParseWarning.CHARSET_CONTRADICTED,)


def test_contradictory_header_gives_way_to_the_meta():
    page = parse(with_meta(CHINESE, "gb2312").encode("gb18030"), encoding="utf-8")
    assert page.encoding == "gb18030"
    assert ParseWarning.CHARSET_CONTRADICTED in page.parse_warnings


def test_a_stray_byte_does_not_contradict_the_declaration():
    page = parse((CHINESE * 20).encode() + b"<p>\xff</p>", encoding="utf-8")
    assert page.encoding == "utf-8"
    assert page.parse_warnings == (ParseWarning.UNDECODABLE_BYTES,)
    assert "\ufffd" in text_of(page)


@pytest.mark.parametrize("label", ["klingon", "", "text/html; charset=", "hex", "rot13", "zlib", "base64", "idna"])
def test_unknown_charset_is_passed_over(label):
    assert "正确读出" in text_of(parse(with_meta(CHINESE, label).encode(), encoding=label))


@pytest.mark.parametrize("label", ["undefined", "unicode_escape", "raw_unicode_escape", "punycode", "utf-7", "mbcs"])
def test_codecs_that_no_browser_knows_are_passed_over(label):
    assert decode(b"<p>a\\x41 +ADw- \\d</p>", label).text == "<p>a\\x41 +ADw- \\d</p>"


@pytest.mark.parametrize("site", ["sina", "qq", "sohu", "163"])
def test_real_chinese_pages_are_read_in_their_encoding(data, site):
    expected = {"gb18030-ok": "gb18030", "utf8-ok": "utf-8"}
    with (data / "sites" / "index.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["site"] == site]
    assert rows
    for row in rows:
        page = parse(gzip.decompress((data / "sites" / site / row["file"]).read_bytes()))
        title = " ".join((page.root.findtext(".//title") or "").split())
        assert (row["file"], page.encoding, title) == (row["file"], expected[row["decodes_as"]], row["title"])


@pytest.mark.parametrize("source", [b"", "", b" \n\t ", b"\xef\xbb\xbf", "\x00"])
def test_empty_page_is_an_empty_tree(source):
    page = parse(source)
    assert page.parse_warnings == (ParseWarning.EMPTY,)
    assert page.root.tag == "html"
    assert text_of(page) == ""


def test_comment_alone_is_an_empty_page():
    assert parse(b"<!-- nothing -->").parse_warnings == (ParseWarning.EMPTY,)


def test_nul_bytes_are_dropped():
    assert text_of(parse(b"<p>lib\x00rary</p>" + b" " * 100)) == "library"


@pytest.mark.parametrize("source", ["<p>a\ud800b</p>", "<p>a\ud800b</p>".encode("utf-8", "surrogatepass")])
def test_lone_surrogates_do_not_reach_the_tree(source):
    text_of(parse(source)).encode("utf-8")


@pytest.mark.parametrize(
    "start", [b"%PDF-1.7", b"\x89PNG\r\n", b"PK\x03\x04", b"\x1f\x8b\x08", b"\x7fELF" + bytes(500)]
)
def test_binary_page_is_refused(start):
    with pytest.raises(PageError, match="not a text format") as caught:
        parse(start + bytes(range(256)))
    assert caught.value.cause is PageFault.BINARY


def test_truncated_page_keeps_its_beginning():
    page = parse(b"<html><body><div><p>first</p><p>second and <b>bo")
    assert text_of(page) == "firstsecond and bo"


def test_truncated_character_is_one_undecodable_byte():
    page = parse(CHINESE.encode()[: CHINESE.encode().index("读出".encode()) + 2])
    assert page.encoding == "utf-8"
    assert page.parse_warnings == (ParseWarning.UNDECODABLE_BYTES,)


@pytest.mark.parametrize("source", [b"<p>x" * 12_500_000, "<p>x" * 12_500_000])
def test_page_of_50_megabytes_is_refused(source):
    with pytest.raises(PageError, match="max_bytes=10000000") as caught:
        parse(source)
    assert caught.value.cause is PageFault.TOO_LARGE


def test_limit_itself_is_allowed():
    assert text_of(parse(b"<p>12345", max_bytes=8)) == "12345"


def test_nesting_of_100_000_levels_survives():
    page = parse(b"<p>top</p>" + b"<div>" * 100_000 + b"bottom" + b"</div>" * 100_000)
    assert page.parse_warnings == (ParseWarning.DEEP_NESTING,)
    assert text_of(page).startswith("top")


@pytest.mark.parametrize("attribute", ["a%d ", "a%d/", "a%d=1 ", 'a%d="1"', "a%d = 1\n", "a%d='>' ", 'a%d = "<p>"'])
@pytest.mark.parametrize("before", ["", "<p title='>'>", "<script>'<p title='</script>", '<!-- <p title=" -->'])
@pytest.mark.parametrize("pure", [False, True])
def test_tag_of_thousands_of_attributes_is_refused_wherever_it_hides(monkeypatch, attribute, before, pure):
    if pure:
        monkeypatch.setitem(parse.__globals__, "load_compiled", lambda _: None)
    attributes = "".join(attribute % number for number in range(11_000))
    with pytest.raises(PageError, match="longer than one tag of 10000 attributes") as caught:
        parse(f"{before}<p>text</p><div {attributes}>")
    assert caught.value.cause is PageFault.TOO_LARGE


def test_many_tags_of_many_attributes_are_refused():
    tag = f"<p {' '.join(f'a{number}' for number in range(5_000))}>text</p>"
    assert text_of(parse(tag * 4)) == "text" * 4
    with pytest.raises(PageError, match="longer than one tag of 10000 attributes"):
        parse(tag * 5)


@pytest.mark.parametrize("tag", ["<td>x", "<p>", "<b>", "<br>", "<i/>", "<a b>", "<option>"])
def test_a_page_of_too_many_elements_is_refused_before_it_has_a_tree(tag):
    """The peak is libxml2's, which no allocator of Python's counts; with a tree it would be 150 to 500 MB."""
    body = f"<table>{tag * 1_200_000}".encode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PageError, match="more than 500000 elements"):
        parse(body)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


def test_equal_attributes_are_one():
    assert text_of(parse(f"<p {'a=1 ' * 50_000}>text</p>")) == "text"


@pytest.mark.parametrize("value", ["'%s'", '"%s"', "%s"])
def test_long_value_is_one_attribute(value):
    assert text_of(parse(f"<p title={value % ('data:a/b/c,x=y;' * 20_000)}>text</p>")) == "text"


@pytest.mark.parametrize("end", ["</body>", "</html>", "</body></html>", "</BODY >\n</HTML>", "</html><html><body>"])
def test_text_after_the_end_tags_is_read(end):
    body = parse(f"<html><body><p>first</p>{end}<p>second</p></body></html>").root.find("body")
    assert "".join(body.text_content().split()) == "firstsecond"


def test_entities_are_not_expanded_without_end():
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><p>text</p>" + "&b;" * 1_000
    assert len(text_of(parse(bomb))) < 10_000


def test_ready_made_tree_is_wrapped_as_it_is():
    root = parse(b"<p>x</p>").root
    page = parse(root, "https://example.org/")
    assert page.root is root
    assert page.url == "https://example.org/"
    assert page.encoding is None


def test_text_has_no_encoding():
    assert parse("<meta charset=gb2312><p>é").encoding is None


@pytest.mark.parametrize(("number", "chars"), [("0310", 9_000), ("0041", 27_000), ("2838", 4_000)])
def test_real_pages_with_misplaced_end_tags_keep_their_text(data, number, chars):
    page = parse(saved_page(data, number))
    assert leaf_chars(page) > chars


def saved_page(data, number):
    return gzip.decompress((data / "extraction" / "wcxb-dev" / "html" / f"{number}.html.gz").read_bytes())


def leaf_chars(page):
    return sum(len(leaf.block.text) for leaf in walk(page.root))


@pytest.mark.parametrize(
    ("page", "body"),
    [
        ("<title>t</title><article><p>x</p></article>", "<body><article><p>x</p></article></body>"),
        ("<title>t</title><main>x</main> y<script>z</script><div>u</div>", None),
        ("<head><title>t</title><my-tag>x</my-tag></head><body>y<p>z</p></body>", None),
        ("<meta charset=utf-8><title>t</title><section>x</section><p>y</p>", None),
    ],
)
def test_head_ends_before_the_first_element_of_content(page, body):
    root = parse(page).root
    assert {element.tag for element in root.find("head")} <= {"title", "meta"}
    if body:
        assert etree.tostring(root.find("body")).decode() == body
    else:
        text = "".join(root.find("body").itertext())
        assert sorted(text.replace(" ", "")) == sorted(re.sub("<title>t</title>|<[^>]*>| ", "", page))


BROKEN = "Det første skib sejlede ud i går, og “alle” så på.".encode() + b" \xe9\xff "


@pytest.mark.parametrize("declared", [None, "utf-8", "windows-1252", "iso-8859-1", "gb2312", "shift_jis"])
def test_utf_8_with_a_few_broken_bytes_stays_utf_8(declared):
    page = parse(b"<p>" + BROKEN * 3, encoding=declared)
    assert page.encoding == "utf-8"
    assert "første skib sejlede ud i går, og “alle” så på. \ufffd\ufffd" in text_of(page)
    assert ParseWarning.UNDECODABLE_BYTES in page.parse_warnings


def test_one_quotation_mark_of_another_encoding_is_one_broken_character():
    page = parse("<p>It’s the ferry’s ".encode() + b"\x93new quay")
    assert (page.encoding, text_of(page)) == ("utf-8", "It’s the ferry’s \ufffdnew quay")


def test_a_few_characters_of_utf_8_do_not_contradict_a_declaration():
    body = "<p>Très près de la forêt, là où naît l’été. ".encode("cp1252") + "é".encode()
    assert parse(body, encoding="windows-1252").encoding == "cp1252"
