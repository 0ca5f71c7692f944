"""LangChain for Python, unchanged, against a running cluster (`npm run test:python`)."""

import unittest

import openai
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from pydantic import BaseModel


@tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


class Report(BaseModel):
    """The answer."""

    city: str


def connect(**options):
    return ChatOpenAI(**{"model": "demo-chat", "max_retries": 0, "timeout": 60, **options})


DIALECTS = ({}, {"use_responses_api": True}, {"use_responses_api": True, "output_version": "v1"})


class Chat(unittest.TestCase):
    def test_it_is_answered_whole_and_streamed(self):
        messages = [SystemMessage("Be brief."), HumanMessage("Hello!")]
        for options in DIALECTS:
            with self.subTest(**options):
                whole = connect(**options).invoke(messages)
                self.assertTrue(whole.text.startswith("You said: Hello!"))
                self.assertGreater(whole.usage_metadata["output_tokens"], 0)
                pieces = [piece.text for piece in connect(**options).stream(messages)]
                self.assertEqual("".join(pieces), whole.text)

    def test_a_tool_loop_ends_with_what_the_tool_said(self):
        question = HumanMessage("What is the weather in Paris?")
        for options in DIALECTS:
            with self.subTest(**options):
                # This model writes reasoning, which goes back with the call, in the form of each interface.
                model = connect(**options, model="demo-reasoning").bind_tools([get_weather])
                first = model.invoke([question])
                [call] = first.tool_calls
                self.assertEqual(call["args"], {"city": "Paris"})
                said = ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])
                answer = model.invoke([question, first, said])
                self.assertEqual(answer.text, "The tool says: sunny in Paris")

    def test_structured_output_is_parsed(self):
        for method in ("json_schema", "function_calling"):
            with self.subTest(method=method):
                model = connect().with_structured_output(Report, method=method)
                self.assertIsInstance(model.invoke("A report of Paris, as JSON"), Report)


class Agents(unittest.TestCase):
    def test_an_agent_that_ends_with_a_forced_call_ends(self):
        agent = create_agent(connect(), tools=[get_weather], response_format=ToolStrategy(Report))
        state = agent.invoke(
            {"messages": [{"role": "user", "content": "What is the weather in Paris?"}]},
            {"recursion_limit": 12},
        )
        self.assertEqual(state["structured_response"], Report(city="Paris"))
        self.assertIn("sunny in Paris", [message.text for message in state["messages"]])


class Embeddings(unittest.TestCase):
    def test_texts_are_embedded_without_the_check_of_their_length(self):
        texts = OpenAIEmbeddings(model="demo-embed", check_embedding_ctx_length=False)
        [one, other] = texts.embed_documents(["a", "b"])
        self.assertEqual(len(one), len(other))

    def test_with_the_check_the_refusal_says_what_to_set(self):
        # The length check needs OpenAI's vocabulary from the internet. This test sends the token ids that it would
        # send.
        client = openai.OpenAI(max_retries=0)
        with self.assertRaises(openai.BadRequestError) as caught:
            client.embeddings.create(model="demo-embed", input=[[64], [65]])
        self.assertIn("check_embedding_ctx_length=False", str(caught.exception))


class LegacyCompletions(unittest.TestCase):
    def test_one_prompt_is_answered(self):
        model = OpenAI(model="demo-chat", max_retries=0)
        self.assertEqual(model.invoke("Hello!"), "You said: Hello!")

    def test_prompts_are_sent_one_by_one(self):
        model = OpenAI(model="demo-chat", max_retries=0, batch_size=1)
        answers = model.batch(["Hello!", "Bye!"])
        self.assertEqual(answers, ["You said: Hello!", "You said: Bye!"])


if __name__ == "__main__":
    unittest.main()
