"""lm-evaluation-harness, unchanged, against a running cluster (`npm run test:python`)."""

# Its packages take about 0.9 GB, without PyTorch.

import json
import os
import tempfile
import unittest
import urllib.error
import urllib.request

# Nothing is fetched: the tasks, their data and the tokenizer are files of this repository.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="millrace-lm-eval-")

import lm_eval
from lm_eval.tasks import TaskManager
from transformers import AutoTokenizer

TASKS = "test/python/evaluation/tasks"
TOKENIZER = "models/tiny"


def evaluate(model, task, path, **options):
    """Runs a task and returns its metrics and its samples."""
    arguments = {
        "model": "demo-chat",
        "base_url": f"{os.environ['OPENAI_BASE_URL']}/{path}",
        **options.pop("arguments", {}),
    }
    results = lm_eval.simple_evaluate(
        model=model,
        model_args=arguments,
        tasks=[task],
        task_manager=TaskManager(include_path=TASKS, include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
        **options,
    )
    samples = sorted(results["samples"][task], key=lambda sample: sample["doc_id"])
    return results["results"][task], samples


def complete(body):
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/completions",
        json.dumps({"model": "demo-chat", **body}).encode(),
        {
            "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}",
            "content-type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


class Completions(unittest.TestCase):
    def test_log_likelihoods_are_those_of_the_interface(self):
        for concurrent in (1, 4):
            metrics, samples = evaluate(
                "local-completions",
                "millrace_choice",
                "completions",
                arguments={
                    "tokenizer": TOKENIZER,
                    "tokenized_requests": False,
                    "num_concurrent": concurrent,
                },
            )
            tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
            self.assertEqual(len(samples), 3)
            right = 0
            for sample in samples:
                expected = []
                for context, continuation in sample["arguments"]:
                    # The interface without output lists the tokens of the prompt alone.
                    scored = complete(
                        {
                            "prompt": context + continuation,
                            "echo": True,
                            "logprobs": 1,
                            "max_tokens": 0,
                        }
                    )
                    [choice] = scored["choices"]
                    begin = len(tokenizer.encode(context))
                    numbers = choice["logprobs"]["token_logprobs"][begin:]
                    tops = choice["logprobs"]["top_logprobs"][begin:]
                    greedy = all(
                        number == max(top.values()) for number, top in zip(numbers, tops)
                    )
                    self.assertGreater(len(numbers), 0)
                    expected.append((sum(numbers), greedy))
                given = [answer for [answer] in sample["resps"]]
                for (likelihood, greedy), (wanted, is_greedy) in zip(given, expected, strict=True):
                    self.assertAlmostEqual(likelihood, wanted, places=6)
                    self.assertEqual(greedy, is_greedy)
                best = max(range(len(expected)), key=lambda at: expected[at][0])
                right += best == sample["doc"]["target"]
            self.assertAlmostEqual(metrics["acc,none"], right / len(samples))

    def test_token_ids_are_refused_with_what_to_set(self):
        with self.assertRaises(urllib.error.HTTPError) as caught:
            complete({"prompt": [[1, 2]], "echo": True, "logprobs": 1, "max_tokens": 1})
        self.assertEqual(caught.exception.code, 400)
        self.assertIn("tokenized_requests=False", caught.exception.read().decode())


class Chat(unittest.TestCase):
    def test_free_answers_are_scored(self):
        metrics, samples = evaluate(
            "local-chat-completions",
            "millrace_answer",
            "chat/completions",
            apply_chat_template=True,
        )
        self.assertEqual(
            [sample["resps"] for sample in samples],
            [[[f"You said: {sample['doc']['question']}"]] for sample in samples],
        )
        self.assertEqual(metrics["exact_match,none"], 1)


if __name__ == "__main__":
    unittest.main()
