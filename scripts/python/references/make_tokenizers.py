"""Trains one small tokenizer of each kind that models use, encodes the hostile texts and decodes random ids with each of
them, and writes the results. `npm run references` runs this; the files are in test/fixtures/tokenizers. Training is not
reproducible, so an existing tokenizer is kept."""

import json
import random
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from hostile_texts import CURATED, random_texts
from training_text import LINES

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level_bpe() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        LINES,
        trainers.BpeTrainer(
            vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        ),
    )
    return tokenizer


def byte_fallback_bpe() -> Tokenizer:
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    metaspace = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="first", split=True)
    trained.pre_tokenizer = metaspace
    trained.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=500, limit_alphabet=90, show_progress=False)
    )
    trained_model = json.loads(trained.to_str())["model"]
    # The order is Llama's: the unknown token, the end tokens, the byte tokens, then the learned tokens.
    first = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    learned = sorted(trained_model["vocab"], key=trained_model["vocab"].get)
    tokens = first + [token for token in learned if token not in first]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: id for id, token in enumerate(tokens)},
            merges=[tuple(merge) for merge in trained_model["merges"]],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.pre_tokenizer = metaspace
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Metaspace(replacement="\u2581", prepend_scheme="always", split=True)
    tokenizer.train_from_iterator(
        LINES,
        trainers.UnigramTrainer(
            vocab_size=500, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer


def wordpiece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        LINES, trainers.WordPieceTrainer(vocab_size=500, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def with_markers(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in CONTROL])
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in MARKERS])
    return tokenizer


def random_ids(tokenizer: Tokenizer, seed: int, count: int) -> list[list[int]]:
    """Half of the lists have ids of the whole vocabulary. The other half have only low ids, so that byte tokens are adjacent."""
    source = random.Random(seed)
    size = tokenizer.get_vocab_size()

    def one() -> list[int]:
        length = source.randint(0, 14)
        if source.random() < 0.5:
            return [source.randrange(size) for _ in range(length)]
        return [source.randrange(min(size, 259)) for _ in range(length)]

    return [one() for _ in range(count)]


def main(folder: Path) -> None:
    texts = CURATED + random_texts(seed=6, count=220)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(texts, indent=0) + "\n", encoding="utf-8")
    for make in (byte_level_bpe, byte_fallback_bpe, unigram, wordpiece):
        name = make.__name__.replace("_", "-")
        own = folder / name
        own.mkdir(exist_ok=True)
        trained = own / "tokenizer.json"
        if not trained.exists():
            trained.write_text(with_markers(make()).to_str(pretty=False) + "\n", encoding="utf-8")
        tokenizer = Tokenizer.from_file(str(trained))
        plain = tokenizer.encode_batch(texts, add_special_tokens=False)
        whole = tokenizer.encode_batch(texts, add_special_tokens=True)
        lists = random_ids(tokenizer, seed=6, count=300) + [encoding.ids for encoding in plain[:90]]
        reference = {
            "texts": [
                {"ids": one.ids, "wholeIds": two.ids} for one, two in zip(plain, whole, strict=True)
            ],
            "decoded": [
                {
                    "ids": ids,
                    "text": tokenizer.decode(ids, skip_special_tokens=False),
                    # The text of the ids after a word, as in the middle of a text.
                    "following": following(tokenizer, ids),
                }
                for ids in lists
            ],
        }
        (own / "reference.json").write_text(json.dumps(reference, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{name}: {tokenizer.get_vocab_size()} tokens, {len(texts)} texts, {len(lists)} lists of ids")


def following(tokenizer: Tokenizer, ids: list[int]) -> str:
    word = tokenizer.encode("hello", add_special_tokens=False).ids
    alone = tokenizer.decode(word, skip_special_tokens=False)
    text = tokenizer.decode(word + ids, skip_special_tokens=False)
    assert text.startswith(alone), (ids, text)
    return text[len(alone) :]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
