"""Agent frameworks, unchanged, against a running cluster (`npm run test:python`).

The simulated models call a tool if the last message of the user has a word of its name, and then repeat the tool's
result.
"""

import asyncio
import os
import tempfile
import unittest

BASE_URL = os.environ["OPENAI_BASE_URL"]
ROOT_URL = BASE_URL.removesuffix("/v1")
API_KEY = os.environ["OPENAI_API_KEY"]
# The libraries may reach the gateway and no other host.
os.environ.update(HTTPS_PROXY="http://127.0.0.1:9", NO_PROXY="127.0.0.1", LITELLM_LOCAL_MODEL_COST_MAP="True")

QUESTION = "What is the weather in Paris?"
ANSWER = "The tool says: sunny in Paris"


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"sunny in {city}"


class AgentFramework(unittest.TestCase):
    def test_a_tool_loop_keeps_its_reasoning(self):
        from agent_framework import Agent
        from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient

        cases = [
            (OpenAIChatCompletionClient, {}),
            (OpenAIChatClient, {"store": False, "include": ["reasoning.encrypted_content"]}),
        ]
        for client, options in cases:
            with self.subTest(client=client.__name__):
                agent = Agent(client=client(model="demo-reasoning"), tools=[get_weather], default_options=options)
                self.assertEqual(asyncio.run(agent.run(QUESTION)).text, ANSWER)


class Agno(unittest.TestCase):
    def test_a_tool_loop(self):
        from agno.agent import Agent
        from agno.models.openai import OpenAIResponses
        from agno.models.openai.like import OpenAILike

        for kind in (OpenAILike, OpenAIResponses):
            with self.subTest(model=kind.__name__):
                model = kind(id="demo-reasoning", base_url=BASE_URL, api_key=API_KEY)
                run = Agent(model=model, tools=[get_weather], telemetry=False).run(QUESTION)
                self.assertEqual(run.content, ANSWER)


class ClaudeAgentSdk(unittest.TestCase):
    def test_a_loop_with_a_tool_that_the_program_defines(self):
        from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

        @tool("lookup_tide", "Returns the tide of a harbour.", {"harbour": str})
        async def lookup_tide(_):
            return {"content": [{"type": "text", "text": "HIGH-TIDE-1432"}]}

        async def run(home):
            options = ClaudeAgentOptions(
                model="demo-chat",
                tools=[],
                mcp_servers={"harbour": create_sdk_mcp_server("harbour", tools=[lookup_tide])},
                allowed_tools=["mcp__harbour__lookup_tide"],
                setting_sources=[],
                cwd=home,
                max_turns=4,
                env={
                    "HOME": home,
                    "ANTHROPIC_BASE_URL": ROOT_URL,
                    "ANTHROPIC_API_KEY": API_KEY,
                    "ANTHROPIC_DEFAULT_HAIKU_MODEL": "demo-chat",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                },
            )
            messages = [one async for one in query(prompt="Please lookup the tide", options=options)]
            return [one.result for one in messages if isinstance(one, ResultMessage)]

        with tempfile.TemporaryDirectory() as home:
            self.assertEqual(asyncio.run(run(home)), ["The tool says: HIGH-TIDE-1432"])


class Dspy(unittest.TestCase):
    def test_a_field_of_a_signature_is_filled(self):
        import dspy

        class Weather(dspy.Signature):
            question: str = dspy.InputField()
            city: str = dspy.OutputField()

        model = dspy.LM("openai/demo-chat", api_base=BASE_URL, api_key=API_KEY, cache=False)
        with dspy.context(lm=model):
            self.assertIsInstance(dspy.Predict(Weather)(question=QUESTION).city, str)


class Haystack(unittest.TestCase):
    def test_a_tool_loop(self):
        from haystack.components.agents import Agent
        from haystack.components.generators.chat import OpenAIChatGenerator
        from haystack.dataclasses import ChatMessage
        from haystack.tools import create_tool_from_function

        agent = Agent(
            chat_generator=OpenAIChatGenerator(model="demo-chat", api_base_url=BASE_URL),
            tools=[create_tool_from_function(get_weather)],
        )
        run = agent.run(messages=[ChatMessage.from_user(QUESTION)])
        self.assertEqual(run["last_message"].text, ANSWER)


class Inspect(unittest.TestCase):
    def test_a_task_with_a_tool_over_each_interface(self):
        from inspect_ai import Task, eval
        from inspect_ai.dataset import Sample
        from inspect_ai.model import get_model
        from inspect_ai.scorer import includes
        from inspect_ai.solver import generate, use_tools
        from inspect_ai.tool import tool

        @tool
        def weather():
            async def execute(city: str):
                """Returns the weather of a city.

                Args:
                    city: name of the city
                """
                return get_weather(city)

            return execute

        models = [
            get_model("openai/demo-reasoning", responses_api=True),
            get_model("openai/demo-reasoning", responses_api=False),
            get_model("anthropic/demo-reasoning", base_url=ROOT_URL, api_key=API_KEY),
        ]
        sample = Sample(QUESTION, target="sunny in Paris")
        for model in models:
            with self.subTest(model=str(model)), tempfile.TemporaryDirectory() as logs:
                task = Task(dataset=[sample], solver=[use_tools(weather()), generate()], scorer=includes())
                [log] = eval(task, model=model, log_dir=logs, display="none")
                self.assertEqual(log.status, "success", log.error)
                self.assertEqual(log.results.scores[0].metrics["accuracy"].value, 1.0)

    def test_a_schema_of_the_answer_over_messages(self):
        from inspect_ai import Task, eval
        from inspect_ai.dataset import Sample
        from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
        from inspect_ai.util import json_schema
        from pydantic import BaseModel

        class Color(BaseModel):
            red: int

        schema = ResponseSchema(name="color", json_schema=json_schema(Color))
        model = get_model("anthropic/demo-chat", base_url=ROOT_URL, api_key=API_KEY)
        with tempfile.TemporaryDirectory() as logs:
            task = Task(dataset=[Sample("color?")], config=GenerateConfig(response_schema=schema))
            [log] = eval(task, model=model, log_dir=logs, display="none")
            self.assertEqual(log.status, "success", log.error)
            Color.model_validate_json(log.samples[0].output.completion)


class PydanticAi(unittest.TestCase):
    def test_a_tool_loop_over_messages(self):
        from pydantic_ai import Agent
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        provider = AnthropicProvider(base_url=ROOT_URL, api_key=API_KEY)
        agent = Agent(AnthropicModel("demo-reasoning", provider=provider), tools=[get_weather])
        self.assertEqual(agent.run_sync(QUESTION).output, ANSWER)


class Smolagents(unittest.TestCase):
    def test_an_agent_gives_its_final_answer(self):
        from smolagents import OpenAIServerModel, ToolCallingAgent

        model = OpenAIServerModel("demo-chat", api_base=BASE_URL, api_key=API_KEY)
        agent = ToolCallingAgent(tools=[], model=model, max_steps=2, verbosity_level=0)
        self.assertEqual(agent.run("Please give the final answer for Paris"), "Paris")


if __name__ == "__main__":
    unittest.main()
