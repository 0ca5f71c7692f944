"""LiteLLM's SDK, unchanged, against a running cluster (`npm run test:python`)."""

import json
import os
import unittest

# Prices and windows of known models come from the package, not from the internet; read when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

litellm.telemetry = False

MESSAGES = [{"role": "user", "content": "Hello!"}]
QUESTION = {"role": "user", "content": "What is the weather in Paris?"}
FUNCTION = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
PROVIDERS = ("openai", "hosted_vllm")


def access(provider, model="demo-chat"):
    return {
        "model": f"{provider}/{model}",
        "api_base": os.environ["OPENAI_BASE_URL"],
        "api_key": os.environ["OPENAI_API_KEY"],
        "max_retries": 0,
        "timeout": 60,
    }


class Chat(unittest.TestCase):
    def test_it_is_answered_whole_and_streamed(self):
        for provider in PROVIDERS:
            with self.subTest(provider=provider):
                whole = litellm.completion(**access(provider), messages=MESSAGES)
                self.assertEqual(whole.choices[0].message.content, "You said: Hello!")
                chunks = list(litellm.completion(**access(provider), messages=MESSAGES, stream=True))
                text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
                self.assertEqual(text, "You said: Hello!")

    def test_reasoning_comes_apart_and_goes_back_with_the_call(self):
        tools = [{"type": "function", "function": FUNCTION}]
        for provider in PROVIDERS:
            with self.subTest(provider=provider):
                ask = {**access(provider, "demo-reasoning"), "tools": tools}
                turn = litellm.completion(**ask, messages=[QUESTION]).choices[0].message
                self.assertGreater(len(turn.reasoning_content), 0)
                [call] = turn.tool_calls
                self.assertEqual(json.loads(call.function.arguments), {"city": "Paris"})
                result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
                answer = litellm.completion(**ask, messages=[QUESTION, turn.model_dump(), result])
                self.assertEqual(answer.choices[0].message.content, "The tool says: sunny")

    def test_an_unknown_model_is_not_found(self):
        with self.assertRaises(litellm.NotFoundError):
            litellm.completion(**access("openai", "nope"), messages=MESSAGES)


class Responses(unittest.TestCase):
    def test_a_response_comes_whole_and_streamed(self):
        whole = litellm.responses(**access("openai"), input="Hello!")
        self.assertEqual(whole.output[-1].content[0].text, "You said: Hello!")
        text = ""
        for event in litellm.responses(**access("openai"), input="Hello!", stream=True):
            if event.type == "response.output_text.delta":
                text += event.delta
        self.assertEqual(text, "You said: Hello!")


class Embeddings(unittest.TestCase):
    def test_texts_are_embedded(self):
        answer = litellm.embedding(**access("openai", "demo-embed"), input=["a", "b"])
        self.assertEqual([entry["index"] for entry in answer.data], [0, 1])


if __name__ == "__main__":
    unittest.main()
