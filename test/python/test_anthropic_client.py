"""The anthropic package for Python, unchanged, against a running cluster (`npm run test:python`)."""

import os
import unittest

import anthropic
from anthropic import Anthropic

MESSAGES = [{"role": "user", "content": "Hello!"}]
HELLO = {"model": "demo-chat", "max_tokens": 1024, "messages": MESSAGES}
WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
QUESTION = {"role": "user", "content": "What is the weather in Paris?"}


def connect(**options):
    """Returns a client with the address and the key of the environment. It does not retry by itself."""
    return Anthropic(
        **{
            "base_url": os.environ["OPENAI_BASE_URL"].removesuffix("/v1"),
            "api_key": os.environ["OPENAI_API_KEY"],
            "max_retries": 0,
            "timeout": 60,
            **options,
        }
    )


class Messages(unittest.TestCase):
    def test_a_message_comes_whole(self):
        message = connect().messages.create(**HELLO)
        self.assertEqual([block.text for block in message.content], ["You said: Hello!"])
        self.assertEqual(message.stop_reason, "end_turn")
        self.assertEqual(message.id, f"msg_{message._request_id}")

    def test_a_stream_is_the_same_message(self):
        with connect().messages.stream(**HELLO) as stream:
            text = "".join(stream.text_stream)
            message = stream.get_final_message()
        self.assertEqual(text, "You said: Hello!")
        self.assertEqual(message.content[0].text, text)
        self.assertGreater(message.usage.output_tokens, 0)

    def test_a_count_is_the_number_of_input_tokens(self):
        client = connect()
        prompt = {"model": "demo-chat", "messages": MESSAGES, "tools": [WEATHER]}
        counted = client.messages.count_tokens(**prompt)
        usage = client.messages.create(**prompt, max_tokens=16).usage
        self.assertEqual(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens)

    def test_a_tool_loop_ends_with_an_answer(self):
        client = connect()
        call = {"model": "demo-chat", "max_tokens": 1024, "tools": [WEATHER]}
        with client.messages.stream(**call, messages=[QUESTION]) as stream:
            asked = stream.get_final_message()
        self.assertEqual(asked.stop_reason, "tool_use")
        use = asked.content[0]
        self.assertEqual((use.name, use.input), ("get_weather", {"city": "Paris"}))
        result = {"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}
        answer = client.messages.create(
            **call,
            messages=[
                QUESTION,
                {"role": "assistant", "content": asked.content},
                {"role": "user", "content": [result]},
            ],
        )
        self.assertEqual(answer.content[0].text, "The tool says: sunny")

    def test_thinking_can_be_sent_back(self):
        client = connect()
        call = {"model": "demo-reasoning", "max_tokens": 4096, "thinking": {"type": "adaptive"}}
        first = client.messages.create(**call, messages=MESSAGES)
        self.assertEqual([block.type for block in first.content], ["thinking", "text"])
        history = [*MESSAGES, {"role": "assistant", "content": first.content}, QUESTION]
        second = client.messages.create(**call, messages=history)
        self.assertIn("assistant: You said: Hello!", second.content[-1].text)


class Failures(unittest.TestCase):
    def test_each_status_is_the_error_of_the_package(self):
        client = connect()
        for error, call in [
            (anthropic.AuthenticationError, lambda: connect(api_key="wrong").messages.create(**HELLO)),
            (anthropic.NotFoundError, lambda: client.messages.create(**{**HELLO, "model": "no/such"})),
            (anthropic.RateLimitError, lambda: client.messages.create(**{**HELLO, "model": "test/busy"})),
            (
                anthropic.BadRequestError,
                lambda: client.messages.create(**{**HELLO, "messages": [{"role": "user", "content": [{"type": "image"}]}]}),
            ),
        ]:
            with self.subTest(error.__name__), self.assertRaises(error):
                call()

    def test_a_stream_that_breaks_raises_the_error_that_it_carries(self):
        pieces = []
        with self.assertRaises(anthropic.APIError):
            with connect().messages.stream(**{**HELLO, "model": "test/midstream-error"}) as stream:
                for text in stream.text_stream:
                    pieces.append(text)
        self.assertTrue(pieces)


if __name__ == "__main__":
    unittest.main()
