"""The few words that every text of a language holds, by language.

- English: the eight of Gopher (Rae et al. 2021, arXiv 2112.11446, section A.1.1).
- All others: those that FineWeb-2 publishes (Penedo et al. 2025, arXiv 2506.20920; its
  repository at d0defb24), without what is no word in `pipelines.signals.segments`.

FineWeb-2 cuts Korean into morphemes, which are no words here, so Korean has no list.
"""

from __future__ import annotations

from collections.abc import Mapping

from lineage.digest import Digest, canonical_json, digest_of

ENGLISH = "en"
_LISTS = {
    "en": "the be to of and that have with",
    "ar": "في من على إلى عام أن مع أو هو عن التي كان بين ما كانت هي المتحدة بعد",
    "bn": "এবং ও হয় করে একটি তিনি করা থেকে",
    "cs": "v a se na je z s do",
    "da": "i og af en til er den at som på for med det blev var der fra de han et",
    "de": "der und die in von im den des mit das er dem als wurde für",
    "el": "του και το της η την από ο με τον να που των στην για στο σε είναι τη τα οι",  # noqa: RUF001
    "es": "de la en el y a que del los se por un con una las su",
    "fa": "در و به از که است این را با یک",
    "fi": (
        "ja on oli hän vuonna myös joka se ei "
        "sen ovat sekä mutta että tai vuoden kanssa hänen jälkeen"
    ),
    "fr": "de la le et à en des du les est un une il dans par au",
    "he": "של את על הוא עם בשנת גם היה היא לאחר לא ידי בין או כי",
    "hi": "के में है की और से का को एक हैं पर",
    "hu": "a az és is egy volt hogy nem meg de magyar első el között",
    "id": "dan yang di pada dari ini dengan adalah untuk dalam",
    "it": "di e il la in a del che è della un per nel con da i una",
    "ja": "の に を は た て が と で 年 し 月 れ さ",
    "nl": "de van in het een en is op voor met door zijn werd hij uit",
    "no": "i og av som en er til på for ble med den det var han de å fra",
    "pl": "w i na z do się roku od a jest przez po jako oraz o został był nie",
    "pt": "de a e o em do da que um no uma com para na é foi",
    "ro": "de în a și din la o cu este un pe fost care al",
    "ru": "в и на с года по году из был к не от что за для его как а он также до после",  # noqa: RUF001
    "sv": "i och är av en som den med på till att för",
    "tr": "ve bir olarak bu ile için olan da de tarafından yılında sonra en daha ilk",  # noqa: RUF001
    "uk": "у в на і з та до року за що",  # noqa: RUF001
    "vi": "là và của một được trong năm các có loài này đã người",
    "zh": "的 年 在 月 是 和 日 了 於 為 有 被 人 中 为 他 與 後 也 而 由",
}
WORDS_OF: Mapping[str, tuple[str, ...]] = {
    language: tuple(words.split(" ")) for language, words in _LISTS.items()
}


def lists_digest() -> Digest:
    """The digest of all lists, for what a build key knows of them."""
    return digest_of(canonical_json(_LISTS))
