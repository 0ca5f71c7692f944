"""Keeps most fuzzed requests answerable and every answer short, so that thousands of them end within minutes."""

import schemathesis

CHAT = ["demo-chat", "millrace/demo-chat", "demo-reasoning"]
EMBEDDING = ["demo-embed"]
LIMITS = {
    "/v1/chat/completions": "max_tokens",
    "/v1/completions": "max_tokens",
    "/v1/messages": "max_tokens",
    "/v1/responses": "max_output_tokens",
}
LONGEST = 4


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    path = context.operation.path
    # A text that names no model would be a 404 whatever else the request has; some of those stay.
    if isinstance(body.get("model"), str) and len(body["model"]) % 8 != 7:
        models = EMBEDDING if path == "/v1/embeddings" else CHAT
        body["model"] = models[len(body["model"]) % len(models)]
    limit = LIMITS.get(path)
    if limit is not None:
        given = body.get(limit)
        if given is None or (isinstance(given, int) and given > LONGEST):
            body[limit] = LONGEST
        # Random texts rarely ask for a stream.
        if "stream" not in body and len(body) % 2 == 0:
            body["stream"] = True
    return body
