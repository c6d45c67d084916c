"""Free text -> words: lower case, without punctuation, in any script."""

import pyarrow as pa
import pyarrow.compute as pc

# Scripts that put no spaces between words: each character is a word of its own.
_UNSPACED = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Khmer}\p{Lao}])"
_BETWEEN = r"[^\p{L}\p{M}\p{N}]+"
_CODES = r"\S{41,}"  # no words of a language


def words_of_texts(texts: pa.Array) -> pa.Array:
    """Lists of words; of a missing text, a missing list.

    >>> words_of_texts(pa.array(["Über 3 Brücken!", None])).to_pylist()
    [['über', '3', 'brücken'], None]
    """
    plain = pc.utf8_lower(pc.utf8_normalize(texts, "NFKC"))
    if pc.any(pc.match_substring_regex(plain, _UNSPACED)).as_py():
        plain = pc.replace_substring_regex(plain, _UNSPACED, r" \1 ")
    plain = pc.replace_substring_regex(plain, _BETWEEN, " ")
    if pc.any(pc.match_substring_regex(plain, _CODES)).as_py():
        plain = pc.replace_substring_regex(plain, _CODES, " ")
        plain = pc.replace_substring_regex(plain, " +", " ")
    plain = pc.utf8_trim(plain, " ")
    return pc.split_pattern(pc.if_else(pc.equal(plain, ""), None, plain), " ")
