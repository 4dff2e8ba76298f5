"""Real-looking pages of 300 words and more in several languages: an article, and what sites put around one."""

from dataclasses import dataclass

_SENTENCES_A_PARAGRAPH, _PARAGRAPHS = 5, 7


@dataclass(frozen=True)
class Language:
    """Sentences of an article, joined with `space`, and the words of the furniture around it."""

    title: str
    sentences: tuple[str, ...]
    menu: tuple[str, ...]
    caption: str
    related: tuple[str, ...]
    comments: tuple[str, ...]
    cookies: str
    foot: str
    space: str = " "

    @property
    def paragraphs(self):
        """Return paragraphs of these sentences, no two alike."""
        count = len(self.sentences)
        starts = [(number * 3, 1 + number % 3) for number in range(_PARAGRAPHS)]
        return [
            self.space.join(self.sentences[(start + step * place) % count] for place in range(_SENTENCES_A_PARAGRAPH))
            for start, step in starts
        ]

    @property
    def page(self):
        """Return the article with a menu, a cookie notice, a picture, related links, comments and a foot."""
        menu = "".join(f'<li class="menu-item"><a href="/{n}">{word}</a></li>' for n, word in enumerate(self.menu))
        related = "".join(
            f'<li class="teaser"><a href="/story-{n}"><h3>{word}</h3></a></li>' for n, word in enumerate(self.related)
        )
        comments = "".join(
            f'<div class="comment"><span class="comment-author">reader{n}</span><p>{word}</p></div>'
            for n, word in enumerate(self.comments)
        )
        first, second, *rest = (f"<p>{text}</p>" for text in self.paragraphs)
        figure = f'<figure><img src="/a.jpg" alt=""><figcaption class="caption">{self.caption}</figcaption></figure>'
        return (
            f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{self.title}</title>'
            '<meta property="og:type" content="article"></head><body>'
            f'<div id="cookie-banner" class="cookie-consent" role="dialog"><p>{self.cookies}</p></div>'
            f'<header class="site-header"><nav class="main-navigation"><ul>{menu}</ul></nav></header>'
            f'<main><article class="article"><header><h1>{self.title}</h1></header>'
            f'<div class="article-body">{first}{second}{figure}{"".join(rest)}</div></article>'
            f'<section class="related-articles"><ul>{related}</ul></section>'
            f'<section id="comments" class="comments">{comments}</section></main>'
            f'<footer class="site-footer"><p>{self.foot}</p></footer></body></html>'
        )


LANGUAGES = {
    "english": Language(
        "The bridge at the old harbour opens after nine years",
        (
            "The new bridge at the old harbour was opened on Monday morning after nine years of work.",
            "Thousands of people walked from one bank to the other before the first cars were allowed to cross.",
            "The mayor said that the city had waited far too long, and thanked the engineers for their patience.",
            "Work had stopped twice, once because of a flood and once because the money had run out.",
            "In the end the bridge cost almost three times as much as the council had promised in the beginning.",
            "Shopkeepers on the northern side hope that visitors will now come back to their quarter.",
            "A ferry that had carried passengers for more than a century made its last journey in the evening.",
            "Its captain, who had steered it for thirty years, rang the bell as the lights of the bridge came on.",
            "Experts expect that the traffic in the centre will fall by a fifth within the next two years.",
            "Critics doubt this, since wider roads have so far brought more cars to every part of the town.",
        ),
        ("Home", "Politics", "Business", "Culture", "Sports", "Weather"),
        "The bridge on the morning of its opening. Photo: City Archive",
        ("Ten walks along the river", "What the ferry meant to us", "Why bridges cost so much"),
        ("Finally! I had given up hope.", "And who pays for all this?"),
        "We use cookies to improve your experience. By using this site you accept our privacy policy.",
        "© 2024 Harbour Times. All rights reserved. Imprint, privacy, contact.",
    ),
    "german": Language(
        "Brücke am alten Hafen nach neun Jahren eröffnet",
        (
            "Die neue Brücke am alten Hafen ist am Montagmorgen nach neun Jahren Bauzeit eröffnet worden.",
            "Tausende Menschen gingen zu Fuß von einem Ufer zum anderen, bevor die ersten Autos fahren durften.",
            "Der Bürgermeister sagte, die Stadt habe viel zu lange gewartet, und dankte den Ingenieuren.",
            "Die Arbeiten hatten zweimal geruht, einmal wegen eines Hochwassers und einmal aus Mangel an Geld.",
            "Am Ende kostete die Brücke fast dreimal so viel, wie der Rat zu Beginn versprochen hatte.",
            "Die Händler auf der nördlichen Seite hoffen, dass nun wieder Besucher in ihr Viertel kommen.",
            "Eine Fähre, die mehr als ein Jahrhundert lang Gäste befördert hatte, fuhr am Abend zum letzten Mal.",
            "Ihr Kapitän, der sie dreißig Jahre gesteuert hatte, läutete die Glocke, als die Lichter angingen.",
            "Fachleute erwarten, dass der Verkehr in der Mitte der Stadt binnen zwei Jahren um ein Fünftel sinkt.",
            "Kritiker bezweifeln das, denn breitere Straßen haben bisher überall nur mehr Autos gebracht.",
        ),
        ("Startseite", "Politik", "Wirtschaft", "Kultur", "Sport", "Wetter"),
        "Die Brücke am Morgen der Eröffnung. Foto: Stadtarchiv",
        ("Zehn Wege am Fluss", "Was uns die Fähre war", "Warum Brücken so teuer sind"),
        ("Endlich! Ich hatte die Hoffnung aufgegeben.", "Und wer bezahlt das alles?"),
        "Wir verwenden Cookies, um Ihren Besuch zu verbessern. Mehr dazu in der Datenschutzerklärung.",
        "© 2024 Hafenblatt. Alle Rechte vorbehalten. Impressum, Datenschutz, Kontakt.",
    ),
    "russian": Language(
        "Мост у старой гавани открыли через девять лет",
        (
            "Новый мост у старой гавани открыли в понедельник утром после девяти лет строительства.",
            "Тысячи людей прошли с одного берега на другой, прежде чем по нему поехали первые машины.",
            "Мэр сказал, что город ждал слишком долго, и поблагодарил инженеров за терпение.",
            "Работы останавливались дважды: один раз из-за наводнения, другой раз из-за нехватки денег.",
            "В конце концов мост обошёлся почти втрое дороже, чем совет обещал в самом начале.",
            "Торговцы на северной стороне надеются, что теперь в их квартал вернутся посетители.",
            "Паром, который больше века возил пассажиров, вечером отправился в свой последний рейс.",
            "Его капитан, водивший судно тридцать лет, ударил в колокол, когда на мосту зажглись огни.",
            "Специалисты ожидают, что движение в центре за ближайшие два года сократится на пятую часть.",
            "Критики сомневаются в этом, ведь широкие дороги до сих пор лишь прибавляли городу машин.",
        ),
        ("Главная", "Политика", "Экономика", "Культура", "Спорт", "Погода"),
        "Мост утром в день открытия. Фото: городской архив",
        ("Десять прогулок вдоль реки", "Чем был для нас паром", "Почему мосты такие дорогие"),
        ("Наконец-то! Я уже не надеялся.", "А кто за всё это заплатит?"),
        "Мы используем файлы cookie, чтобы сайт работал лучше. Подробнее в политике конфиденциальности.",
        "© 2024 Вестник гавани. Все права защищены. Контакты, реклама, о нас.",
    ),
    "arabic": Language(
        "افتتاح جسر الميناء القديم بعد تسع سنوات",
        (
            "افتتح الجسر الجديد عند الميناء القديم صباح يوم الاثنين بعد تسع سنوات من العمل المتواصل.",
            "وعبر آلاف الناس سيرا على الأقدام من ضفة إلى أخرى قبل أن يسمح للسيارات الأولى بالمرور.",
            "وقال رئيس البلدية إن المدينة انتظرت أكثر مما ينبغي، وشكر المهندسين على صبرهم الطويل.",
            "وكان العمل قد توقف مرتين، مرة بسبب الفيضان ومرة أخرى لأن المال كان قد نفد تماما.",
            "وفي النهاية كلف الجسر ما يقارب ثلاثة أضعاف المبلغ الذي وعد به المجلس في البداية.",
            "ويأمل أصحاب المتاجر في الجانب الشمالي أن يعود الزوار الآن إلى حيهم القديم من جديد.",
            "وقامت العبارة التي حملت الركاب أكثر من قرن كامل برحلتها الأخيرة في مساء اليوم نفسه.",
            "وقرع قبطانها الذي قادها ثلاثين عاما الجرس عندما أضيئت أنوار الجسر فوق مياه النهر.",
            "ويتوقع الخبراء أن تنخفض حركة المرور في وسط المدينة بمقدار الخمس خلال العامين القادمين.",
            "ويشك المنتقدون في ذلك، لأن الطرق الواسعة جلبت حتى الآن مزيدا من السيارات إلى كل مكان.",
        ),
        ("الرئيسية", "سياسة", "اقتصاد", "ثقافة", "رياضة", "الطقس"),
        "الجسر صباح يوم الافتتاح. الصورة: أرشيف المدينة",
        ("عشر نزهات على ضفة النهر", "ماذا كانت العبارة لنا", "لماذا الجسور باهظة الثمن"),
        ("أخيرا! كنت قد فقدت الأمل.", "ومن سيدفع ثمن كل هذا؟"),
        "نستخدم ملفات تعريف الارتباط لتحسين تجربتك. باستخدام الموقع فإنك توافق على سياسة الخصوصية.",
        "© 2024 صحيفة الميناء. جميع الحقوق محفوظة. اتصل بنا، من نحن.",
    ),
    "hindi": Language(
        "पुराने बंदरगाह का पुल नौ साल बाद खुला",
        (
            "पुराने बंदरगाह पर बना नया पुल नौ साल के काम के बाद सोमवार की सुबह लोगों के लिए खोल दिया गया।",
            "पहली गाड़ियों को जाने की अनुमति मिलने से पहले हज़ारों लोग एक किनारे से दूसरे किनारे तक पैदल गए।",
            "महापौर ने कहा कि शहर ने बहुत लंबा इंतज़ार किया है, और उन्होंने इंजीनियरों को उनके धैर्य के लिए धन्यवाद दिया।",
            "काम दो बार रुका था, एक बार बाढ़ के कारण और एक बार इसलिए कि पैसा पूरी तरह ख़त्म हो गया था।",
            "अंत में पुल पर उस राशि से लगभग तीन गुना ख़र्च हुआ जिसका वादा परिषद ने शुरुआत में किया था।",
            "उत्तरी किनारे के दुकानदारों को उम्मीद है कि अब आने वाले लोग उनके मोहल्ले में फिर लौटेंगे।",
            "एक नाव, जो सौ साल से ज़्यादा समय तक यात्रियों को ले जाती रही, शाम को अपनी आख़िरी यात्रा पर निकली।",
            "उसके कप्तान ने, जो तीस साल से उसे चला रहे थे, पुल की बत्तियाँ जलते ही घंटी बजाई।",
            "जानकारों का मानना है कि अगले दो सालों में शहर के बीच का यातायात पाँचवें हिस्से तक घट जाएगा।",
            "आलोचकों को इस पर शक है, क्योंकि चौड़ी सड़कों से अब तक हर जगह केवल गाड़ियाँ ही बढ़ी हैं।",
        ),
        ("मुखपृष्ठ", "राजनीति", "कारोबार", "संस्कृति", "खेल", "मौसम"),
        "उद्घाटन की सुबह पुल। तस्वीर: नगर अभिलेखागार",
        ("नदी के किनारे दस सैर", "नाव हमारे लिए क्या थी", "पुल इतने महँगे क्यों होते हैं"),
        ("आख़िरकार! मैंने उम्मीद छोड़ दी थी।", "और इन सबका पैसा कौन देगा?"),
        "हम आपके अनुभव को बेहतर बनाने के लिए कुकी का उपयोग करते हैं। गोपनीयता नीति पढ़ें।",
        "© 2024 बंदरगाह समाचार। सर्वाधिकार सुरक्षित। संपर्क करें, हमारे बारे में।",
    ),
    "chinese": Language(
        "老港口大桥历时九年终于通车",
        (
            "经过九年的施工，位于老港口的新大桥于星期一上午正式开放通行，全城居民都前来观看。",
            "在第一批汽车获准驶过之前，成千上万的市民先步行从河的一岸走到了另一岸，久久不愿离去。",
            "市长在讲话中表示，这座城市已经等待得太久了，并且感谢工程师们多年来的耐心与付出。",
            "工程曾经两度停工，一次是因为突如其来的洪水，另一次则是因为原定的资金已经全部用完。",
            "到最后，大桥的花费几乎是市议会当初所承诺金额的三倍，这引起了许多人的不满和讨论。",
            "北岸的店主们希望，从今以后游客能够重新回到他们的街区，让那里的生意再次热闹起来。",
            "一艘运送乘客超过一个世纪的渡船，在当天傍晚完成了它的最后一次航行，岸上掌声不断。",
            "驾驶这艘渡船三十年的老船长，在大桥灯光亮起的那一刻敲响了船钟，许多人都流下了眼泪。",
            "专家预计，在今后的两年之内，市中心的交通流量将会减少五分之一，空气也会好转不少。",
            "批评者对此表示怀疑，因为到目前为止，更宽的道路只是给城市的各个地方带来了更多汽车。",
        ),
        ("首页", "时政", "财经", "文化", "体育", "天气"),
        "通车当天早晨的大桥。图片来源：市档案馆",
        ("沿河散步的十条路线", "渡船对我们意味着什么", "为什么桥梁如此昂贵"),
        ("终于通车了！我本来已经不抱希望了。", "这些钱到底由谁来出呢？"),
        "本网站使用Cookie以改善您的浏览体验，继续使用即表示您同意我们的隐私政策。",
        "版权所有 © 2024 港口日报 未经授权禁止转载 联系我们 关于我们",
        "",
    ),
    "japanese": Language(
        "旧港の橋、九年を経て開通",
        (
            "旧港にかかる新しい橋が、九年にわたる工事を終えて、月曜日の朝に開通した。",
            "最初の車が通行を許される前に、何千人もの市民が岸から岸へと歩いて橋を渡った。",
            "市長はあいさつの中で、町は長く待ちすぎたと述べ、技術者たちの忍耐に感謝した。",
            "工事は二度にわたって止まり、一度は洪水のため、もう一度は資金が尽きたためだった。",
            "結局、橋にかかった費用は、市議会が当初に約束した額のおよそ三倍にまでふくらんだ。",
            "北側の商店主たちは、これで訪れる人々が再びこの地区に戻ってくることを期待している。",
            "一世紀以上にわたって乗客を運んできた渡し船は、その日の夕方に最後の航海に出た。",
            "三十年間かじを取ってきた船長は、橋の明かりがともると同時に、静かに鐘を鳴らした。",
            "専門家は、これから二年のうちに中心部の交通量が五分の一ほど減ると見込んでいる。",
            "批判する人々はこれを疑っており、広い道路はこれまで車を増やすばかりだったと言う。",
        ),
        ("ホーム", "政治", "経済", "文化", "スポーツ", "天気"),
        "開通した朝の橋。写真：市立文書館",
        ("川沿いを歩く十の道", "渡し船が教えてくれたこと", "橋はなぜこれほど高いのか"),
        ("やっと開通ですね。もうあきらめていました。", "この費用はいったい誰が払うのでしょうか。"),
        "当サイトでは利便性向上のためクッキーを使用しています。詳しくはプライバシーポリシーをご覧ください。",
        "© 2024 港新聞社 無断転載を禁じます お問い合わせ 会社概要",
        "",
    ),
}
