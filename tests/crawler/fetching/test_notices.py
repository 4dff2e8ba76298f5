"""Pages that stand in place of another are recognised in many languages; articles about them are articles."""

import pytest

from cleaning.parse import parse
from crawler.fetching.notices import suspect_notice
from crawler.fetching.response_filter import reject_page
from crawler.visit import Outcome

REMOVED = {
    "en": "Page not found",
    "en-error": "Error 404 (Not Found)!!1",
    "de": "Seite nicht gefunden",
    "fr": "Page introuvable",
    "es": "Página no encontrada",
    "pt": "Página não encontrada",
    "it": "Pagina non trovata",
    "nl": "Pagina niet gevonden",
    "sv": "Sidan hittades inte",
    "da": "Siden blev ikke fundet",
    "no": "Siden ble ikke funnet",
    "fi": "Sivua ei löytynyt",
    "pl": "Nie znaleziono strony",
    "cs": "Stránka nenalezena",
    "sk": "Stránka sa nenašla",
    "hu": "Az oldal nem található",
    "ro": "Pagina nu a fost găsită",
    "bg": "Страницата не е намерена",
    "el": "Η σελίδα δεν βρέθηκε",
    "tr": "SAYFA BULUNAMADI",
    "ru": "Ошибка 404. Страница не найдена",
    "uk": "Сторінку не знайдено",
    "ar": "الصفحة غير موجودة",
    "fa": "صفحه مورد نظر یافت نشد",
    "he": "הדף לא נמצא",
    "hi": "पृष्ठ नहीं मिला",
    "zh": "404错误-页面不存在",
    "zh-tw": "找不到網頁",
    "ja": "お探しのページは見つかりませんでした",
    "ko": "페이지를 찾을 수 없습니다",
    "vi": "Không tìm thấy trang",
    "th": "ไม่พบหน้า",
    "id": "Halaman tidak ditemukan",
}
CHALLENGES = {
    "en": "Just a moment...",
    "en-check": "Checking your browser before accessing",
    "en-human": "Verify you are human",
    "ddos-guard": "DDoS-Guard",
    "cloudflare": "Attention Required! | Cloudflare",
    "de": "Nur einen Moment…",
    "fr": "Un instant…",
    "es": "Un momento…",
    "pt": "Um momento…",
    "it": "Solo un momento…",
    "nl": "Even geduld…",
    "pl": "Jeszcze chwila…",
    "tr": "Bir dakika lütfen…",
    "ru": "Один момент…",
    "uk": "Хвилинку…",
    "ar": "لحظة…",
    "fa": "یک لحظه…",
    "he": "רק רגע…",
    "zh": "请稍候…",
    "zh-tw": "請稍候...",
    "ja": "しばらくお待ちください...",
    "ko": "잠시만 기다리십시오…",
    "vi": "Chờ một chút...",
}
MENU = "".join(f"<li><a href='/{number}'>Section {number}</a></li>" for number in range(12))
SENTENCE = "The river rose in the night and carried the old bridge down to the mill, where it lies until today. "


def page(title, body, head=""):
    return f"<html><head><meta charset=utf-8><title>{title}</title>{head}</head><body>{body}</body></html>".encode()


def outcome(body):
    rejection = reject_page(parse(body), body)
    return rejection.outcome if rejection else None


@pytest.mark.parametrize("title", REMOVED.values(), ids=REMOVED)
def test_a_page_whose_title_or_heading_says_that_it_is_gone_is_removed(title):
    menu = f"<nav><ul>{MENU}</ul></nav>"
    short = "<p>We are sorry. Perhaps the search helps.</p>"
    assert outcome(page(title, menu + short)) is Outcome.REMOVED
    assert outcome(page(f"{title} | The Daily News", menu + short)) is Outcome.REMOVED
    assert outcome(page(f"The Daily News – {title}", menu + short)) is Outcome.REMOVED
    assert outcome(page("The Daily News", f"{menu}<h1>{title}</h1>{short}")) is Outcome.REMOVED


@pytest.mark.parametrize("title", CHALLENGES.values(), ids=CHALLENGES)
def test_a_challenge_in_place_of_a_page_is_a_captcha(title):
    text = "<p>news.example needs to review the security of your connection before proceeding.</p>"
    assert outcome(page(title, f"<h1>news.example</h1>{text}<script>run()</script>")) is Outcome.CAPTCHA
    assert outcome(page("news.example", f"<h1>{title}</h1>{text}")) is Outcome.CAPTCHA


@pytest.mark.parametrize(
    "text",
    [
        "Checking your browser before accessing news.example.",
        "Enable JavaScript and cookies to continue",
        "Проверка браузера перед переходом на сайт news.example",
        "DDoS protection by Cloudflare",
        "正在检查您的浏览器，请稍候",
    ],
)
def test_a_small_page_of_which_a_text_begins_as_a_challenge_is_a_captcha(text):
    assert outcome(page("news.example", f"<div><noscript>{text}</noscript></div>")) is Outcome.CAPTCHA


ARTICLE_HEADS = (
    '<meta property="article:published_time" content="2025-11-05">',
    '<meta property="og:type" content="article">',
    '<script type="application/ld+json">{"@type": "NewsArticle", "datePublished": "2025-11-05"}</script>',
)


@pytest.mark.parametrize("title", [*REMOVED.values(), *CHALLENGES.values()])
def test_an_article_with_such_a_title_is_an_article(title):
    long = f"<article><h1>{title}</h1><p>{SENTENCE * 8}</p></article>"
    assert outcome(page(title, long)) is None
    assert outcome(page(f"{title} | The Daily News", f"<ul>{MENU}</ul>{long}")) is None
    for head in ARTICLE_HEADS:
        assert outcome(page(title, f"<h1>{title}</h1><p>{SENTENCE}</p>", head)) is None


@pytest.mark.parametrize("words", [*REMOVED.values(), *CHALLENGES.values()])
def test_words_in_other_places_are_no_notice(words):
    quoted = f"<p>“{words}”, said the screen, and {SENTENCE}</p>"
    assert outcome(page("The screen", f"<ul>{MENU}</ul><h1>The screen</h1>{quoted}")) is None
    assert outcome(page(f"Why “{words}” is a bad answer", f"<h1>Why not</h1><p>{SENTENCE}</p>")) is None
    body = f"<ul>{MENU}</ul><h2>{words}</h2><p>{SENTENCE}</p><a href='/x'>{words}</a>"
    assert outcome(page("The screen", body)) is None


def test_a_short_text_with_a_common_title_on_a_page_with_links_is_no_challenge():
    poem = "<p>Un momento, y la tarde se va por el río.</p>"
    assert outcome(page("Un momento", f"<nav>{MENU}</nav><h1>Un momento</h1>{poem}")) is None


def test_a_title_is_read_in_the_encoding_of_the_page():
    body = "<html><head><title>Страница не найдена</title></head><body><p>Увы.</p></body></html>".encode("cp1251")
    assert suspect_notice(body, "windows-1251").outcome is Outcome.REMOVED
    assert suspect_notice(body, "utf-8") is None


def test_hostile_headings_are_read_in_bounded_time():
    for body in (b"<title>" * 200_000, b"<h1>" * 500_000, b"<h1>x</h1>" * 100_000, b"<title>" + b"&amp;" * 500_000):
        suspect_notice(body, "utf-8")
