"""Pydantic AI, unchanged, against a running cluster (`npm run test:python`)."""

import asyncio
import unittest

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

MODELS = (OpenAIChatModel, OpenAIResponsesModel)


class Report(BaseModel):
    city: str


def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


class Agents(unittest.TestCase):
    def test_a_tool_loop_ends_with_what_the_tool_said(self):
        for model in MODELS:
            with self.subTest(model=model.__name__):
                # This model writes reasoning, which goes back with the call.
                agent = Agent(model("demo-reasoning"), tools=[get_weather], instructions="Be brief.")
                first = agent.run_sync("What is the weather in Paris?")
                self.assertEqual(first.output, "The tool says: sunny in Paris")
                second = agent.run_sync("Hello!", message_history=first.all_messages())
                self.assertTrue(second.output.startswith("You said: Hello!"))

    def test_output_is_parsed(self):
        for model in MODELS:
            for kind in (NativeOutput, ToolOutput):
                with self.subTest(model=model.__name__, kind=kind.__name__):
                    agent = Agent(model("demo-chat"), tools=[get_weather], output_type=kind(Report))
                    result = agent.run_sync("What is the weather in Paris?")
                    self.assertEqual(result.output, Report(city="Paris"))

    def test_text_comes_in_pieces(self):
        async def gather(agent):
            async with agent.run_stream("Hello!") as run:
                return [piece async for piece in run.stream_text(delta=True, debounce_by=None)]

        for model in MODELS:
            with self.subTest(model=model.__name__):
                pieces = asyncio.run(gather(Agent(model("demo-chat"))))
                self.assertEqual("".join(pieces), "You said: Hello!")


if __name__ == "__main__":
    unittest.main()
