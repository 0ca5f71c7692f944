"""Writes OUT/NAME.json for each FOLDER/NAME.jinja. The file has the form that `render_chats.py` writes for a model. All
templates use the tokenizer of MODEL, not the tokenizers of their own models. `npm run test:templates` runs this and compares."""

import sys
from pathlib import Path

from render_chats import make_reference
from transformers import PreTrainedTokenizerFast


def main(folder: Path, model: Path, out: Path) -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(model, local_files_only=True)
    for template in sorted(folder.glob("*.jinja")):
        tokenizer.chat_template = template.read_text(encoding="utf-8")
        text, _ = make_reference(tokenizer)
        (out / f"{template.stem}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*(Path(path) for path in sys.argv[1:4]))
