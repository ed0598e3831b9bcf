"""A SentencePiece BPE tokenizer from its pieces and scores, for `tokenizers`, which wants merges.

SentencePiece stores no merges. It joins the two neighbours whose union has the highest score, the leftmost first, until
no union is a piece (Kudo and Richardson 2018, arXiv 1808.06226, llama.cpp reads the scores of a GGUF file likewise).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # the types of pieces, as in SentencePiece and GGUF
SPACE = "▁"  # U+2581 stands for a space within a piece


def merges(pieces: Sequence[str], scores: Sequence[float], kinds: Sequence[int]) -> list[tuple[str, str]]:
    """Every pair of normal pieces whose union is a normal piece, from the highest score of the union to the lowest.

    Args:
        pieces, scores, kinds: [V], by token id.
    Returns:
        The merges in the order in which BPE applies them. Pairs with one union are in the order of their left lengths.
    """
    normal = {piece: score for piece, score, kind in zip(pieces, scores, kinds, strict=True) if kind == NORMAL}
    return [
        (piece[:cut], piece[cut:])
        for piece in sorted(normal, key=normal.__getitem__, reverse=True)
        for cut in range(1, len(piece))
        if piece[:cut] in normal and piece[cut:] in normal
    ]


def tokenizer(
    pieces: Sequence[str], scores: Sequence[float], kinds: Sequence[int], *, unknown: int, begin: int | None
) -> Tokenizer:
    """The tokenizer of these pieces. It puts no space before a text.

    Args:
        pieces, scores, kinds: [V], by token id. Every byte has a piece.
        unknown: the id of the unknown token. begin: the id that `encode` puts before a text, None: nothing.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors

    ids = {piece: number for number, piece in enumerate(pieces)}
    model = models.BPE(ids, merges(pieces, scores, kinds), unk_token=pieces[unknown], byte_fallback=True, fuse_unk=True)
    result = Tokenizer(model)
    result.normalizer = normalizers.Replace(" ", SPACE)
    result.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    # both kinds are found in the text before any merge, the leftmost and longest first, and are never merged
    whole = [(piece, kind) for piece, kind in zip(pieces, kinds, strict=True) if kind in (CONTROL, USER_DEFINED)]
    result.add_tokens([AddedToken(piece, normalized=False, special=kind == CONTROL) for piece, kind in whole])
    if begin is not None:
        first = pieces[begin]
        result.post_processor = processors.TemplateProcessing(
            single=f"{first} $A", pair=f"{first} $A {first}:1 $B:1", special_tokens=[(first, begin)]
        )
    return result
