"""Made-up documents of four topics in three languages, for mining."""

import random
from datetime import UTC, datetime, timedelta

from crawler.mining import Document

START = datetime(2026, 1, 5, 12, tzinfo=UTC)  # a Monday
TOPICS = {
    ("news/harbour", "en"): "ferry quay harbour captain storm pilot anchor deck fishing crew",
    ("news/garden", "en"): "roses compost spade pruning seedlings orchard greenhouse weeds soil hedge",
    ("sport", "de"): "fußball torwart tabelle trainer spieler stadion elfmeter verein liga niederlage",
    ("科技", "zh"): "芯片 手机 电脑 网络 软件 机器 数据 电池 屏幕 卫星",
}
COMMON = {"en": "people said yesterday", "de": "menschen gestern", "zh": "记者"}


def documents(per_topic=30, seed=1):
    """Documents of each topic; every third harbour text has the words `northern lighthouse` side by side."""
    rng = random.Random(seed)
    collection = []
    for (section, language), words in TOPICS.items():
        for number in range(per_topic):
            text = rng.choices(words.split(), k=25) + COMMON[language].split()
            rng.shuffle(text)
            if section == "news/harbour" and number % 3 == 0:
                text += ["northern", "lighthouse"]
            place = len(collection)
            columns = {"section": section, "language": language, "site": f"site{number % 5}.example"}
            collection.append(
                Document(
                    place + 1,
                    f"https://{columns['site']}/{place}",
                    f"Page {place}",
                    ("" if language == "zh" else " ").join(text),
                    columns,
                    START + timedelta(days=7 * (number % 6)),
                )
            )
    return collection
