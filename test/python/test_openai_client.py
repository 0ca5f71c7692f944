"""The openai package for Python, unchanged, against a running cluster (`npm run test:python`)."""

import base64
import json
import os
import struct
import time
import unittest
import urllib.request
import uuid

import httpx2
import openai
from openai import OpenAI

CREDIT = 1_000_000_000
MESSAGES = [{"role": "user", "content": "Hello!"}]
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FUNCTION = {"name": "get_weather", "description": "Tells the weather.", "parameters": PARAMETERS}
QUESTION = {"role": "user", "content": "What is the weather in Paris?"}


def connect(**options):
    """Returns a client with the address and the key of the environment. It does not retry by itself."""
    return OpenAI(**{"max_retries": 0, "timeout": 60, **options})


def call_admin(path, body=None):
    request = urllib.request.Request(
        os.environ["MILLRACE_ADMIN_URL"] + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": f"Bearer {os.environ['MILLRACE_ADMIN_TOKEN']}"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def create_account(credits):
    """Creates an account with these credits and returns its id and key."""
    account = call_admin("/admin/v1/accounts", {"name": "python"})["id"]
    call_admin(
        f"/admin/v1/accounts/{account}/topups",
        {"credits": credits, "idempotencyKey": str(uuid.uuid4()), "reason": "test"},
    )
    return account, call_admin(f"/admin/v1/accounts/{account}/keys", {"name": "python"})["secret"]


class Chat(unittest.TestCase):
    def test_an_answer_comes_whole(self):
        answer = connect().chat.completions.create(model="demo-chat", messages=MESSAGES)
        self.assertEqual(answer.choices[0].message.content, "You said: Hello!")
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(answer.id, f"chatcmpl-{answer._request_id}")
        self.assertEqual(
            answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens
        )

    def test_a_stream_is_the_same_text_with_usage_when_asked(self):
        chunks = list(
            connect().chat.completions.create(
                model="demo-chat",
                messages=MESSAGES,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        self.assertEqual(text, "You said: Hello!")
        self.assertEqual(chunks[-1].choices, [])
        self.assertGreater(chunks[-1].usage.completion_tokens, 0)

    def test_line_ends_of_unicode_tear_no_frame(self):
        odd = "a\u2028b\u2029c\u0085d"
        with connect().chat.completions.stream(
            model="demo-chat", messages=[{"role": "user", "content": odd}]
        ) as stream:
            answer = stream.get_final_completion()
        self.assertEqual(answer.choices[0].message.content, f"You said: {odd}")

    def test_reasoning_comes_apart_from_the_answer(self):
        answer = connect().chat.completions.create(
            model="demo-reasoning", messages=MESSAGES, reasoning_effort="high"
        )
        message = answer.choices[0].message
        self.assertEqual(message.content, "You said: Hello!")
        self.assertGreater(len(message.reasoning_content), 0)

    def test_a_tool_loop_ends_with_what_the_tool_said(self):
        client = connect()
        tools = [{"type": "function", "function": FUNCTION}]
        with client.chat.completions.stream(
            model="demo-chat", messages=[QUESTION], tools=tools
        ) as stream:
            turn = stream.get_final_completion().choices[0]
        self.assertEqual(turn.finish_reason, "tool_calls")
        [call] = turn.message.tool_calls
        self.assertEqual(json.loads(call.function.arguments), {"city": "Paris"})
        answer = client.chat.completions.create(
            model="demo-chat",
            tools=tools,
            messages=[
                QUESTION,
                turn.message.model_dump(include={"role", "content", "tool_calls"}),
                {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
            ],
        )
        self.assertEqual(answer.choices[0].message.content, "The tool says: sunny")

    def test_structured_output_is_parsed(self):
        answer = connect().chat.completions.create(
            model="demo-chat",
            messages=MESSAGES,
            response_format={"type": "json_schema", "json_schema": {"name": "place", "schema": PARAMETERS}},
        )
        self.assertEqual(list(json.loads(answer.choices[0].message.content)), ["city"])


class LegacyCompletions(unittest.TestCase):
    def test_a_prompt_is_answered_whole_and_streamed(self):
        client = connect()
        whole = client.completions.create(model="demo-chat", prompt=["Hello", "you"])
        self.assertEqual(whole.choices[0].text, "You said: Hello\nyou")
        chunks = list(client.completions.create(model="demo-chat", prompt=["Hello", "you"], stream=True))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks), whole.choices[0].text)
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")


class Responses(unittest.TestCase):
    def test_a_response_comes_whole(self):
        response = connect().responses.create(
            model="demo-chat", instructions="Be brief.", input="Hello!"
        )
        self.assertEqual(response.status, "completed")
        self.assertTrue(response.output_text.startswith("You said: Hello!"))
        self.assertGreater(response.usage.total_tokens, 0)

    def test_the_stream_helper_gathers_the_response(self):
        with connect().responses.stream(model="demo-chat", input="Hello!") as stream:
            types = [event.type for event in stream]
            response = stream.get_final_response()
        self.assertEqual(types[0], "response.created")
        self.assertIn("response.output_text.delta", types)
        self.assertEqual(types[-1], "response.completed")
        self.assertEqual(response.output_text, "You said: Hello!")

    def test_a_tool_loop_ends_with_what_the_tool_said(self):
        client = connect()
        tools = [{"type": "function", **FUNCTION}]
        first = client.responses.create(model="demo-chat", input=[QUESTION], tools=tools)
        [call] = [item for item in first.output if item.type == "function_call"]
        self.assertEqual(json.loads(call.arguments), {"city": "Paris"})
        second = client.responses.create(
            model="demo-chat",
            tools=tools,
            input=[
                QUESTION,
                *[item.model_dump() for item in first.output],
                {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"},
            ],
        )
        self.assertEqual(second.output_text, "The tool says: sunny")


class Embeddings(unittest.TestCase):
    def test_the_clients_own_base64_is_the_same_as_numbers(self):
        client = connect()
        # If no format is given, the client asks for base64 and decodes it.
        decoded = client.embeddings.create(model="demo-embed", input=["a", "b"])
        numbers = client.embeddings.create(
            model="demo-embed", input=["a", "b"], encoding_format="float"
        )
        self.assertEqual([entry.index for entry in decoded.data], [0, 1])
        for ours, theirs in zip(decoded.data, numbers.data):
            self.assertEqual(list(ours.embedding), list(theirs.embedding))

    def test_raw_base64_holds_little_endian_floats(self):
        client = connect()
        raw = client.embeddings.create(model="demo-embed", input="a", encoding_format="base64")
        content = base64.b64decode(raw.data[0].embedding)
        numbers = client.embeddings.create(model="demo-embed", input="a", encoding_format="float")
        self.assertEqual(
            list(struct.unpack(f"<{len(content) // 4}f", content)), numbers.data[0].embedding
        )


class Models(unittest.TestCase):
    def test_they_are_listed_and_found_with_a_slash_too(self):
        client = connect()
        self.assertIn("millrace/demo-chat", [model.id for model in client.models.list()])
        self.assertEqual(client.models.retrieve("millrace/demo-chat").id, "millrace/demo-chat")


class Refusals(unittest.TestCase):
    def refused(self, kind, ask, code):
        with self.assertRaises(kind) as caught:
            ask()
        self.assertEqual(caught.exception.code, code)
        self.assertIsNotNone(caught.exception.request_id)
        return caught.exception

    def test_a_wrong_key_is_an_authentication_error(self):
        stranger = connect(api_key="wrong")
        self.refused(openai.AuthenticationError, stranger.models.list, "invalid_key")

    def test_an_unknown_model_is_not_found_on_every_operation(self):
        client = connect()
        for ask in (
            lambda: client.chat.completions.create(model="nope", messages=MESSAGES),
            lambda: client.responses.create(model="nope", input="x"),
            lambda: client.completions.create(model="nope", prompt="x"),
            lambda: client.embeddings.create(model="nope", input="x"),
            lambda: client.models.retrieve("nope"),
        ):
            error = self.refused(openai.NotFoundError, ask, "model_not_found")
            self.assertIn("Unknown model 'nope'", str(error))

    def test_a_wrong_field_is_a_bad_request_that_names_it(self):
        def ask():
            connect().chat.completions.create(model="demo-chat", messages=MESSAGES, temperature=9)

        error = self.refused(openai.BadRequestError, ask, "invalid_request")
        self.assertEqual(error.param, "temperature")

    def test_a_lack_of_credits_is_a_402(self):
        _, key = create_account("0.000001")
        poor = connect(api_key=key)

        def ask():
            poor.chat.completions.create(model="demo-chat", messages=MESSAGES)

        error = self.refused(openai.APIStatusError, ask, "insufficient_credits")
        self.assertEqual(error.status_code, 402)

    def test_a_failed_backend_is_an_internal_server_error(self):
        def ask():
            connect().chat.completions.create(model="test/upstream-error", messages=MESSAGES)

        error = self.refused(openai.InternalServerError, ask, "upstream_error")
        self.assertEqual(error.status_code, 502)

    def test_a_busy_model_is_tried_again_when_it_says(self):
        tries = []
        waits = []

        def note(response):
            tries.append(time.monotonic())
            waits.append(int(response.headers["retry-after"]))

        with httpx2.Client(event_hooks={"response": [note]}) as http_client:
            client = connect(max_retries=1, http_client=http_client)

            def ask():
                client.chat.completions.create(model="test/busy", messages=MESSAGES)

            self.refused(openai.RateLimitError, ask, "model_busy")
        self.assertEqual(len(tries), 2)
        self.assertTrue(1 <= waits[0] <= 59)
        self.assertGreaterEqual(tries[1] - tries[0], waits[0])


class BrokenStreams(unittest.TestCase):
    def test_a_failure_in_the_middle_is_raised_after_the_text_before_it(self):
        client = connect()
        seen = []
        for stream, text_of in (
            (
                lambda: client.chat.completions.create(
                    model="test/midstream-error", messages=MESSAGES, stream=True
                ),
                lambda chunk: chunk.choices[0].delta.content,
            ),
            (
                lambda: client.completions.create(
                    model="test/midstream-error", prompt="Hello!", stream=True
                ),
                lambda chunk: chunk.choices[0].text,
            ),
        ):
            seen.clear()
            with self.assertRaises(openai.APIError) as caught:
                for chunk in stream():
                    seen.append(text_of(chunk) or "")
            self.assertEqual(caught.exception.code, "upstream_error")
            self.assertNotEqual("".join(seen), "")

    def test_a_failure_in_the_middle_of_a_response_is_raised(self):
        text = ""
        with self.assertRaises(openai.APIError):
            for event in connect().responses.create(
                model="test/midstream-error", input="Hello!", stream=True
            ):
                if event.type == "response.output_text.delta":
                    text += event.delta
        self.assertNotEqual(text, "")

    def test_who_hangs_up_pays_only_for_what_was_generated(self):
        account, key = create_account("1")
        stream = connect(api_key=key).chat.completions.create(
            model="test/long", messages=MESSAGES, stream=True
        )
        next(chunk for chunk in stream if chunk.choices[0].delta.content)
        stream.close()
        books = call_admin(f"/admin/v1/accounts/{account}")
        limit = time.monotonic() + 60
        while books["openHolds"] > 0:
            self.assertLess(time.monotonic(), limit, "the hold stays open")
            time.sleep(0.1)
            books = call_admin(f"/admin/v1/accounts/{account}")
        # 4,000 tokens at 30 nano-credits each would have been 120,000.
        self.assertLess(CREDIT - int(books["postedNano"]), 120_000)


if __name__ == "__main__":
    unittest.main()
