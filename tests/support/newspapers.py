"""A database as twenty newspapers leave it after three weeks: some refuse, move, are redesigned or copy one another.

The crawls are made by the real store and judged by the real health step, under a clock that ends at `now`:

    with opened_engine(url) as engine:
        fill(engine)
"""

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache

from sqlalchemy import update

from cleaning import Metadata, clean, parse
from cleaning.page_fingerprint import Fingerprinter
from crawler.health import records
from crawler.health.conditions import SiteTally, judge_site
from crawler.storage import schema
from crawler.storage.crawls import CrawlPolicy, mark_seeded
from crawler.storage.pages import REVISIT_KEY
from crawler.storage.requests import LeaseOptions, add_requests, lease_requests, pause_host
from crawler.storage.store import PageState, Store
from crawler.storage.tables import crawl as crawl_table
from crawler.storage.tables import request as request_table
from crawler.urls import host_of, url_key
from crawler.visit import FetchedPage, Outcome, ProcessedPage, RequestRecord, Visit

DAYS = 21
FIRST_ARTICLES = 10
REFUSED_DAY, REDESIGN_DAY, MOVE_DAY, SILENT_DAY, VANISH_DAY, QUIET_DAY = 17, 18, 15, 16, 19, 7

REFUSED = "coast-herald.example"
REDESIGNED = "mountain-star.example"
MOVED, MOVED_TO = "old-ferry.example", "new-ferry.example"
SILENT = "forest-gazette.example"
VANISHED = "city-lantern.example"
QUIET = "plain-journal.example"
ORIGINAL, COPYING = "river-echo.example", "island-mail.example"
OBEYED = "hill-courier.example"
PAUSED = "valley-times.example"
CHINESE, ARABIC, HEBREW = "hu-bao.example", "sawt.example", "kol.example"
OPEN = "harbour-post.example"


@dataclass(frozen=True)
class Paper:
    """A newspaper, and every how many days it is crawled."""

    site: str
    name: str
    language: str = "en"
    every: int = 4

    @property
    def spider(self):
        return self.site.partition(".")[0]

    @property
    def front(self):
        return f"https://www.{self.site}/news/"


PAPERS = (
    Paper(OPEN, "The Harbour Post", every=1),
    Paper(PAUSED, "The Valley Times"),
    Paper(OBEYED, "The Hill Courier"),
    Paper(ORIGINAL, "The River Echo", every=2),
    Paper(COPYING, "Island Mail", every=2),
    Paper(REFUSED, "Coast Herald", every=1),
    Paper(REDESIGNED, "Mountain Star"),
    Paper(QUIET, "Plain Journal", every=1),
    Paper(SILENT, "Forest Gazette", every=2),
    Paper(VANISHED, "City Lantern"),
    Paper(MOVED, "The Old Ferry"),
    Paper("canal-review.example", "Canal Review"),
    Paper("tal-bote.example", "Talbote", "de"),
    Paper("ufer-zeitung.example", "Uferzeitung", "de"),
    Paper("le-phare.example", "Le Phare", "fr"),
    Paper("el-faro.example", "El Faro", "es"),
    Paper("mayak.example", "Маяк", "ru"),
    Paper(CHINESE, "湖报", "zh"),
    Paper(ARABIC, "صوت الميناء", "ar"),
    Paper(HEBREW, "קול הנמל", "he"),
)

# Of each language: sentences with places for words, and the words.
SENTENCES = {
    "en": (
        "The {a} of the {b} told reporters on day {n} that the {c} would stay closed until the {d} had been repaired.",
        "Nobody at the {b} expected {n} visitors, and the {a} had to send half of them to the {d} behind the {c}.",
        "According to the {a}, the {d} costs {n} crowns more than the council had planned for the {c} and the {b}.",
        "For {n} years the {c} beside the {b} has belonged to the {a}, who now wants to sell it together with the {d}.",
        "When the {d} was opened again, the {a} counted {n} boats between the {b} and the {c} in a single morning.",
        "The court will decide in week {n} whether the {a} may rebuild the {c} that a storm tore from the {b} and {d}.",
    ),
    "de": (
        "Der {a} sagte am Tag {n}, dass {b} und {c} geschlossen bleiben, bis {d} wieder hergestellt ist.",
        "Niemand hatte {n} Gäste erwartet, und so schickte der {a} die Hälfte von ihnen vom Platz {b} zu {d} und {c}.",
        "Nach den Zahlen des Rates kostet {d} nun {n} Kronen mehr, als der {a} für {b} und {c} eingeplant hatte.",
        "Seit {n} Jahren gehört {c} neben {b} der Familie, die der {a} jetzt bittet, der Stadt auch {d} zu verkaufen.",
    ),
    "fr": (
        "Le {a} a déclaré le jour {n} que {b} et {c} resteraient fermés tant que {d} ne serait pas réparé.",
        "Personne n'attendait {n} visiteurs, et le {a} a dû en envoyer la moitié de {b} vers {d} et vers {c}.",
        "Selon le conseil, {d} coûte {n} couronnes de plus que ce que le {a} avait prévu pour {b} et pour {c}.",
        "Depuis {n} ans, {c} et {b} appartiennent à une famille que le {a} prie de vendre {d} à la commune.",
    ),
    "es": (
        "El {a} dijo el día {n} que {b} y {c} seguirían cerrados hasta que {d} estuviera reparado por completo.",
        "Nadie esperaba {n} visitantes, y el {a} tuvo que enviar a la mitad de ellos desde {b} hacia {d} y hacia {c}.",
        "Según el consejo, {d} cuesta {n} coronas más de lo que el {a} había previsto para {b} y para {c}.",
        "Desde hace {n} años {c} y {b} son de una familia a la que el {a} pide que venda {d} a la ciudad.",
    ),
    "ru": (
        "На {n}-й день {a} сообщил, что {b} и {c} останутся закрытыми, пока не будет восстановлен {d}.",
        "Никто не ждал {n} гостей, и {a} отправил половину из них туда, где {d} и {c}, а остальных туда, где {b}.",
        "По расчётам совета, {d} стоит на {n} крон дороже, чем {a} заложил в смету на {b} и {c}.",
        "Уже {n} лет {c} и {b} принадлежат семье, которую {a} просит продать городу ещё и {d}.",
    ),
    "zh": (
        "{a}在第{n}天表示,{b}和{c}将继续关闭,直到{d}修复完成为止,市民可以改走北岸的道路。",
        "没有人想到会来{n}位游客,{a}只好请其中一半人从{b}前往{d},其余的人留在{c}等候下一班渡船。",
        "根据市议会公布的数字,{d}的费用比{a}原先为{b}和{c}安排的预算多出{n}万元。",
        "{n}年来,{c}旁边的{b}一直属于同一个家庭,现在{a}希望他们把{d}也卖给城市。",
    ),
    "ar": (
        "قال {a} في اليوم {n} إن {b} و{c} سيبقيان مغلقين حتى يتم إصلاح {d} بالكامل ويعود الزوار إلى الشاطئ.",
        "لم يتوقع أحد وصول {n} زائر، فأرسل {a} نصفهم من {b} إلى {d} وطلب من الباقين الانتظار قرب {c} حتى المساء.",
        "وفقا لأرقام المجلس فإن {d} يكلف {n} ألفا أكثر مما خصصه {a} لكل من {b} و{c} في ميزانية هذا العام.",
        "منذ {n} عاما تملك عائلة واحدة {c} و{b}، ويطلب منها {a} الآن أن تبيع {d} للمدينة قبل نهاية الشتاء.",
    ),
    "he": (
        "{a} אמר ביום {n} כי {b} ו{c} יישארו סגורים עד שיושלם התיקון של {d} והמבקרים יוכלו לחזור אל החוף.",
        "איש לא ציפה שיגיעו {n} אורחים, ולכן {a} שלח מחצית מהם מן {b} אל {d} וביקש מן השאר להמתין ליד {c}.",
        "לפי נתוני המועצה {d} עולה {n} אלף יותר ממה ש{a} תכנן עבור {b} ועבור {c} בתקציב של השנה הזאת.",
        "כבר {n} שנים {c} וגם {b} שייכים למשפחה אחת, וכעת {a} מבקש ממנה למכור לעיר גם את {d} לפני החורף.",
    ),
}
WORDS = {
    "en": "mayor ferryman teacher baker lighthouse market bridge library mill quay theatre orchard tannery chapel "
    "harbour archive brewery garden lantern museum pharmacy quarry railway smithy toolhouse vineyard windmill",
    "de": "Fischer Lehrer Bäcker Leuchtturm Markthalle Brücke Bücherei Mühle Ufermauer Theater Obstgarten Gerberei "
    "Kapelle Hafenamt Archiv Brauerei Laterne Museum Apotheke Steinbruch Bahnhof Schmiede Weinberg",
    "fr": "pêcheur maître boulanger phare marché pont moulin quai théâtre verger tannerie chapelle port archives "
    "brasserie jardin lanterne musée pharmacie carrière gare forge vignoble",
    "es": "pescador maestro panadero faro mercado puente molino muelle teatro huerto curtiduría capilla puerto archivo "
    "cervecería jardín farol museo farmacia cantera estación fragua viñedo",
    "ru": "рыбак учитель пекарь маяк рынок мост мельница причал театр сад часовня порт архив пивоварня фонарь музей "
    "аптека карьер вокзал кузница виноградник",
    "zh": "市长 船长 教师 面包师 灯塔 市场 大桥 图书馆 磨坊 码头 剧院 果园 教堂 港口 档案馆 酒厂 花园 博物馆 药房",
    "ar": "الصياد المعلم الخباز الفنار السوق الجسر المكتبة الطاحونة الرصيف المسرح البستان المصلى الميناء الأرشيف "
    "الحديقة المتحف الصيدلية المحجر المحطة الورشة",
    "he": "הדייג המורה האופה המגדלור השוק הגשר הספרייה הטחנה הרציף התיאטרון הפרדס הנמל הארכיון הגן המוזיאון "
    "המרקחת המחצבה התחנה הנפחייה הכרם",
}
MENU = "".join(f'<a href="/{name}/">{name.title()}</a> ' for name in ("news", "culture", "sport", "weather", "archive"))


def sentence(language, seed):
    """A sentence that depends on the seed alone."""
    chance = random.Random(seed)
    words = dict(zip("abcd", chance.sample(WORDS[language].split(), 4), strict=True))
    return chance.choice(SENTENCES[language]).format(n=chance.randint(3, 9_999), **words)


@dataclass
class Article:
    """An article: `copied` is that of another site, `edits` counts its changes, `site` is where it has moved."""

    paper: Paper
    number: int
    published: datetime
    edits: int = 0
    renamed: int = 0
    copied: "Article | None" = None
    site: str = ""

    @property
    def path(self):
        return f"/news/{self.published:%Y}/{self.number}.html"

    @property
    def url(self):
        return f"https://www.{self.site or self.paper.site}{self.path}"

    @property
    def title(self):
        if self.copied:
            return self.copied.title
        chance = random.Random(f"{self.paper.spider} title {self.number} {self.renamed}")
        words = chance.sample(WORDS[self.paper.language].split(), 3)
        return f"{' · '.join(words).capitalize()} {self.number}"

    def paragraphs(self):
        if self.copied:
            # Every other copy has a word of its own.
            texts = self.copied.paragraphs()
            last = texts[-1].replace("the ", "that ", 1) if self.number % 2 else texts[-1]
            return [*texts[:-1], last]
        language = self.paper.language
        seeds = [[f"{self.paper.spider} {self.number} {place} {line}" for line in range(3)] for place in range(4)]
        if self.edits:
            seeds[self.edits % 4] = [f"{seed} edit {self.edits}" for seed in seeds[self.edits % 4]]
        return [" ".join(sentence(language, seed) for seed in line_seeds) for line_seeds in seeds]

    def html(self, *, redesigned=False):
        texts = "".join(f"<p>{text}</p>" for text in self.paragraphs())
        body = f"<article><h1>{self.title}</h1>{texts}</article>"
        if redesigned:
            teasers = "".join(f'<li><a href="/news/{place}.html">Story {place}</a></li>' for place in range(12))
            body = f'<div id="app"></div><ul class="teasers">{teasers}</ul><div class="consent">Accept cookies</div>'
        direction = ' dir="rtl"' if self.paper.language in {"ar", "he"} else ""
        return (
            f'<!doctype html><html lang="{self.paper.language}"{direction}><head><meta charset="utf-8">'
            f"<title>{self.title} – {self.paper.name}</title>"
            f'<meta property="article:published_time" content="{self.published.isoformat()}">'
            f'<meta property="article:section" content="{("News", "Culture", "Sport")[self.number % 3]}"></head>'
            f'<body><nav class="menu">{MENU}</nav>{body}'
            f'<footer class="footer">Copyright {self.paper.name}. All rights reserved.</footer></body></html>'
        )


def page_visit(article, moment, *, redesigned=False, **values):
    """The visit of an article, cleaned and fingerprinted."""
    page = processed(article.url, article.html(redesigned=redesigned))
    return Visit(article.url, moment, Outcome.PAGE, 200, page=page, **values)


@cache
def processed(url, html):
    """A page with its decisions and fingerprints; a second database takes them from the first."""
    body = html.encode()
    tree = parse(body, url)
    cleaned = clean(tree)
    prints = Fingerprinter().fingerprint(cleaned.decisions)
    return ProcessedPage(FetchedPage(url, body, tree, Metadata()), cleaned, prints.blocks, prints.fingerprint)


def request_for(url, *, again=False):
    """The request for an address; `again` for a stored page."""
    meta = {REVISIT_KEY: url_key(url)} if again else {}
    return RequestRecord(url_key(url), url, host_of(url), meta=meta)


@dataclass
class Press:
    """The newspapers while they are crawled: the articles of each by site."""

    engine: object
    now: datetime
    articles: dict[str, list[Article]] = field(default_factory=dict)

    def moment_of(self, day, paper):
        """When a newspaper is crawled on a day, in the early morning; the last day is the one before `now`."""
        start = self.now - timedelta(days=DAYS - day)
        return start + timedelta(minutes=20 * PAPERS.index(paper) - 400)

    def crawl(self, paper, day):
        """Crawl a newspaper once, and end the crawl."""
        moment = self.moment_of(day, paper)
        store = Store(self.engine)
        arguments = {"url": paper.front}
        is_recrawl = paper.site in self.articles
        crawl = store.join_crawl(paper.spider, arguments, CrawlPolicy(is_recrawl=is_recrawl), fresh=True).crawl_id
        visits = list(self.visits(paper, day, moment))
        tally = SiteTally()
        counters = Counter()
        for visit, saved in zip(visits, store.save(crawl, visits), strict=True):
            tally.add(visit, saved)
            count_visit(counters, visit, saved)
        store.end_crawl(crawl, "finished", counters)
        ended = moment + timedelta(seconds=3 * len(visits))
        self.judge(store, crawl, tally, ended)
        with self.engine.begin() as connection:
            moments = {"started": moment, "finished": ended}
            connection.execute(update(crawl_table).where(crawl_table.c.id == crawl).values(moments))
        store.close()

    def judge(self, store, crawl, tally, ended):
        """Store the counts and the conditions of the sites, as the end of a crawl does."""
        counts = tally.counts

        def write(connection):
            records.add_counts(connection, crawl, counts, ended)
            for site, crawls in records.read_crawls(connection, counts).items():
                alerts = {alert.condition: alert.since for alert in records.read_alerts(connection, [site])}
                findings = judge_site(crawls, ended, alerts, is_target=True)
                records.record_findings(connection, {site: findings}, ended)

        store.write(write)

    def visits(self, paper, day, moment):
        """Yield the visits of a crawl; each newspaper has its own fate."""
        known = self.articles.setdefault(paper.site, [])
        if paper.site == REFUSED and day >= REFUSED_DAY:
            yield from without_page(known, moment, Outcome.FORBIDDEN, 403)
            return
        if paper.site == SILENT and day >= SILENT_DAY:
            yield from without_page(known, moment, Outcome.DOWNLOAD_FAILED, error="DNS lookup failed")
            return
        yield section_visit(paper.front, moment, moved=paper.site == MOVED and day >= MOVE_DAY)
        if paper.site == MOVED and day >= MOVE_DAY:
            yield from self.moves(known, moment)
        elif paper.site == REDESIGNED and day >= REDESIGN_DAY:
            for article in known:
                yield page_visit(article, moment, redesigned=True, request=request_for(article.url, again=True))
        elif paper.site == VANISHED and day >= VANISH_DAY:
            yield from without_page(known[2:], moment, Outcome.NOT_FOUND, 404)
            yield from unchanged(known[:2], moment)
        else:
            yield from self.usual(paper, day, moment, known)

    def usual(self, paper, day, moment, known):
        """Yield the visits of a good day: new articles, one that changed, and the others as they were."""
        is_quiet = paper.site == QUIET and day > QUIET_DAY
        changed = [] if is_quiet or day % 2 else known[day % 7 : day % 7 + 1]
        yield from unchanged([article for article in known if article not in changed], moment)
        for article in changed:
            article.edits += 1
            article.renamed += day % 3 == 0
            yield page_visit(article, moment, request=request_for(article.url, again=True))
        number = 0 if is_quiet else 1 if known else FIRST_ARTICLES
        for _ in range(number):
            article = Article(paper, len(known) + 1, moment - timedelta(hours=5))
            if paper.site == COPYING and article.number <= len(self.articles[ORIGINAL]):
                article.copied = self.articles[ORIGINAL][article.number - 1]
            known.append(article)
            yield page_visit(article, moment, request=request_for(article.url))
        if paper.site == OBEYED:
            yield from obedience(paper, day, moment)

    def moves(self, known, moment):
        """Yield visits that lead to another site for good."""
        for place, article in enumerate(known):
            known[place] = replace(article, site=MOVED_TO)
            before = (url_key(article.url),)
            yield page_visit(known[place], moment, moved_from=before, request=request_for(article.url, again=True))

    def leave_open(self):
        """Begin a crawl that goes on: a third of its requests are done, a few leased, and one host asks for a pause."""
        paper, store = PAPERS[0], Store(self.engine)
        crawl = store.join_crawl(paper.spider, {"url": paper.front}, CrawlPolicy(), fresh=True).crawl_id
        urls = [f"https://www.{paper.site}/news/{number}.html" for number in range(500, 560)]
        urls += [f"https://www.{PAUSED}/news/{number}.html" for number in range(500, 505)]
        clock = datetime.now(UTC)
        store.write(lambda connection: add_requests(connection, crawl, [request_for(url) for url in urls], clock))
        store.write(lambda connection: mark_seeded(connection, crawl, clock))
        options = LeaseOptions("reader", clock, clock + timedelta(hours=2), 60, limit=24)
        leased = store.write(lambda connection: lease_requests(connection, crawl, options))
        visits = [self.read(request, clock) for request in leased[:20]]
        counters = Counter()
        for visit, saved in zip(visits, store.save(crawl, visits), strict=True):
            count_visit(counters, visit, saved)
        store.end_crawl(crawl, "shutdown", counters, finished=False)
        with self.engine.begin() as connection:
            pause = {"first_seconds": 3_600, "max_seconds": 3_600, "evidence": "status 429"}
            pause_host(connection, f"www.{PAUSED}", self.now, Outcome.REFUSED, **pause)
            moments = {"started": self.now - timedelta(minutes=4), "finished": None, "reason": None}
            connection.execute(update(crawl_table).where(crawl_table.c.id == crawl).values(moments))
            ended = request_table.c.ended.is_not(None) & (request_table.c.crawl_id == crawl)
            connection.execute(update(request_table).where(ended).values(ended=self.now - timedelta(seconds=20)))
        store.close()

    def read(self, leased, clock):
        """The visit of a leased request; every tenth one fails."""
        number = int(leased.record.url.rpartition("/")[2].partition(".")[0])
        known = {"lease_token": leased.lease_token, "request": leased.record}
        if number % 10 == 3:
            return Visit(leased.record.url, clock, Outcome.HTTP_ERROR, 500, error="status 500", **known)
        article = Article(PAPERS[0], number, self.now - timedelta(hours=5))
        return replace(page_visit(article, clock, **known), url=leased.record.url)


def section_visit(url, moment, *, moved=False):
    """The visit of a listing, which may lead to another site for good."""
    target = url.replace(MOVED, MOVED_TO) if moved else url
    request = request_for(target)
    before = (url_key(url),) if moved else ()
    known = {"children": 10, "request": request, "requests": (request,)}
    return Visit(target, moment, Outcome.SECTION, 200, moved_from=before, **known)


def unchanged(articles, moment):
    for article in articles:
        yield Visit(article.url, moment, Outcome.NOT_MODIFIED, 304, request=request_for(article.url, again=True))


def without_page(articles, moment, outcome, status=None, error=None):
    for article in articles:
        yield Visit(article.url, moment, outcome, status, error=error, request=request_for(article.url, again=True))


def obedience(paper, day, moment):
    """Yield visits that a polite crawler does not make, and addresses that lead nowhere."""
    outcomes = (Outcome.ROBOTS, Outcome.ROBOTS, Outcome.NOINDEX, Outcome.TDM_RESERVED, Outcome.NOT_FOUND)
    for place, outcome in enumerate(outcomes):
        url = f"https://www.{paper.site}/archive/{day}-{place}.html"
        yield Visit(url, moment, outcome, 404 if outcome is Outcome.NOT_FOUND else 200, request=request_for(url))


def count_visit(counters, visit, saved):
    """Add a visit to the counters of its crawl, as the store step does."""
    counters[f"visit/{visit.outcome}"] += 1
    if saved.state is not PageState.NONE:
        counters[f"store/pages_{saved.state}"] += 1
    if isinstance(visit.page, ProcessedPage):
        decisions = visit.page.cleaned.decisions
        counters["blocks/seen"] += len(decisions)
        counters.update(f"blocks/{decision.reason}" for decision in decisions)
    stats = {"store/blocks_new": saved.stored, "store/blocks_gone": saved.gone, "dedup/exact": saved.exact}
    stats |= {"store/blocks_refreshed": saved.refreshed, "dedup/near": saved.near}
    counters.update({name: number for name, number in stats.items() if number})


def fill(engine, now=None):
    """Crawl all newspapers for three weeks that end at `now`, by default the present, and leave one crawl open."""
    schema.prepare_schema(engine)
    press = Press(engine, now or datetime.now(UTC))
    for day in range(DAYS):
        for place, paper in enumerate(PAPERS):
            if (day + (place if day else 0)) % paper.every == 0 or day == 0 or _is_fateful(paper, day):
                press.crawl(paper, day)
    press.leave_open()


def _is_fateful(paper, day):
    days = {REDESIGNED: (REDESIGN_DAY,), MOVED: (MOVE_DAY,), VANISHED: (VANISH_DAY,), REFUSED: (17, 18, 19, 20)}
    return day in days.get(paper.site, ())
