"""Writes FOLDER/chat-reference.json: fixed conversations as transformers renders and tokenizes them with the model in
FOLDER. `npm run references` runs this; `npx millrace models check` compares the file with Millrace's own prompts. If the
template refuses a conversation, the file has the reason, and Millrace must refuse the conversation as well."""

import datetime
import json
import sys
from importlib.metadata import version
from pathlib import Path

from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils


class FixedDate(datetime.datetime):
    """The same date at every run, for templates that name it."""

    @classmethod
    def now(cls, tz=None):
        return cls(2030, 1, 2, 15, 4, 5)


chat_template_utils.datetime = FixedDate

WEATHER = {
    "name": "get_weather",
    "description": "The weather in a city, in °C.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": 'e.g. "Zürich" or <Paris>'},
            "days": {"type": "integer", "minimum": 1, "default": 3},
            "scale": {"enum": ["celsius", "fahrenheit", None, True, 1.5]},
        },
        "required": ["city"],
    },
}
CLOCK = {"name": "clock", "description": None, "parameters": {"type": "object", "properties": {}}}


def call(id: str, name: str, arguments: str) -> dict:
    return {"id": id, "name": name, "arguments": arguments}


def assistant(content: str, reasoning: str = "", calls: tuple = ()) -> dict:
    return {"role": "assistant", "content": content, "reasoning": reasoning, "toolCalls": list(calls)}


def user(content: str) -> dict:
    return {"role": "user", "content": content}


def system(content: str) -> dict:
    return {"role": "system", "content": content}


def result(id: str, content: str) -> dict:
    return {"role": "tool", "toolCallId": id, "content": content}


SPREAD = '{"city": "Zürich", "days": 2, "ratio": 1.0, "tiny": 1e-7, "big": 12345678901234567890, "none": null, "on": true}'

CONVERSATIONS = [
    {"name": "user", "messages": [user("Hello")]},
    {"name": "system and user", "messages": [system("Be brief."), user("Hello")]},
    {
        "name": "turns",
        "messages": [user("Hi"), assistant("Hello! How can I help?"), user("Say é, 東京 and 😀."), assistant("é 東京 😀"), user("Thanks")],
    },
    {"name": "blanks", "messages": [system("  indented\n\n"), user("\n a \t b \r\n\r\n c  \n")]},
    {"name": "markup", "messages": [user("<b>&amp;</b> {{ x }} {% if %} \\n \"quoted\" 'single' `code`")]},
    {"name": "empty", "messages": [user("")]},
    {"name": "reasoning", "messages": [user("2+2?"), assistant("4", "Two and two\nare four."), user("And 3+3?")]},
    {"name": "tools", "messages": [user("Weather in Zürich?")], "tools": [WEATHER, CLOCK]},
    {"name": "tools and system", "messages": [system("Be brief."), user("Weather?")], "tools": [WEATHER]},
    {
        "name": "call",
        "messages": [
            user("Weather in Zürich?"),
            assistant("", calls=[call("call00001", "get_weather", SPREAD)]),
            result("call00001", '{"temperature": 21.0, "sky": "☀"}'),
        ],
        "tools": [WEATHER, CLOCK],
    },
    {
        "name": "calls with text and reasoning",
        "messages": [
            user("Weather and time?"),
            assistant(
                "I look it up.",
                "Both tools.",
                [call("call00001", "get_weather", '{"city":"Paris"}'), call("call00002", "clock", "{}")],
            ),
            result("call00001", "rain"),
            result("call00002", "12:00"),
            assistant("Rain, at noon.", "Summing up."),
            user("Thanks"),
        ],
        "tools": [WEATHER, CLOCK],
    },
    {
        "name": "keys like numbers",
        "messages": [
            user("Sort"),
            assistant("", calls=[call("call00001", "clock", '{"b": 1, "2": "x", "1": [1, 2.50], "a": {}}')]),
            result("call00001", "ok"),
        ],
        "tools": [CLOCK],
    },
]

SWITCHES = [
    {},
    {"enable_thinking": True},
    {"enable_thinking": False},
    {"thinking": True},
    {"thinking": False},
    {"reasoning_effort": "none"},
    {"reasoning_effort": "low"},
    {"reasoning_effort": "high"},
]


def to_message(message: dict) -> dict:
    """A message as vLLM passes it to a template: arguments parsed, absent fields left out."""
    if message["role"] == "tool":
        return {"role": "tool", "content": message["content"], "tool_call_id": message["toolCallId"]}
    if message["role"] != "assistant":
        return message
    own = {"role": "assistant", "content": message["content"]}
    if message["reasoning"]:
        own |= {"reasoning": message["reasoning"], "reasoning_content": message["reasoning"]}
    if message["toolCalls"]:
        own["tool_calls"] = [
            {
                "id": one["id"],
                "type": "function",
                "function": {"name": one["name"], "arguments": json.loads(one["arguments"])},
            }
            for one in message["toolCalls"]
        ]
    return own


def render(tokenizer: PreTrainedTokenizerFast, conversation: dict, switches: dict) -> dict:
    tools = [{"type": "function", "function": tool} for tool in conversation.get("tools", [])]
    try:
        prompt = tokenizer.apply_chat_template(
            [to_message(message) for message in conversation["messages"]],
            tools=tools or None,
            documents=None,
            add_generation_prompt=True,
            tokenize=False,
            **switches,
        )
    except Exception as error:  # Templates refuse with exceptions of any kind.
        return {"refused": f"{type(error).__name__}: {error}"[:300]}
    return {"prompt": prompt, "ids": tokenizer(prompt, add_special_tokens=False)["input_ids"]}


def make_reference(tokenizer: PreTrainedTokenizerFast) -> tuple[str, int]:
    """The content of chat-reference.json, and its number of cases."""
    plain = [render(tokenizer, conversation, {}) for conversation in CONVERSATIONS]
    cases = []
    for switches in SWITCHES:
        for conversation, without in zip(CONVERSATIONS, plain, strict=True):
            rendered = render(tokenizer, conversation, switches)
            # If a switch changes nothing, this template does not have it.
            if switches == {} or rendered != without:
                cases.append({"tools": [], **conversation, "switches": switches, **rendered})
    made_by = f"transformers {version('transformers')}, tokenizers {version('tokenizers')}"
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    return f'{{"madeBy": {json.dumps(made_by)}, "now": "2030-01-02T15:04:05", "cases": [\n{lines}\n]}}\n', len(cases)


def main(folder: Path) -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    text, count = make_reference(tokenizer)
    (folder / "chat-reference.json").write_text(text, encoding="utf-8")
    print(f"{folder}: {count} cases")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
