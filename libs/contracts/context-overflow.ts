/**
 * Returns the public message of a `context_length_exceeded`. Agents compact or trim their history when they recognize
 * an overflow. Most recognize it by fixed words of the message, not by the code. These are the words, and the clients
 * that search for them:
 * - "prompt is too long": LangChain, in an answer with the status 400.
 * - "exceeds the context window": LangChain, in an error within a stream; and opencode.
 * - "This model's maximum context length is": LiteLLM. vLLM's own message has the same words.
 * - "prompt is too long: 33010 tokens > 32768 maximum": Claude Code, which reads both numbers. Anthropic's words.
 *
 * So a change of a word here is a change of the interface. `tokens` is the length of the prompt; null if it is not
 * known.
 */
export function toOverflowMessage({
  contextWindow,
  subject = 'prompt',
  tokens = null,
}: {
  readonly contextWindow: number
  /** The words for the text that is too long, without an article: the prompt, or one of the inputs to embed. */
  readonly subject?: string
  readonly tokens?: number | null
}): string {
  const length = tokens === null ? '' : `; the ${subject} has ${tokens}`
  // A prompt may have as many tokens as the window, and then leave no room for output.
  const excess =
    tokens !== null && tokens > contextWindow ? `${tokens} tokens > ${contextWindow} maximum. It` : 'it'
  return (
    `The ${subject} is too long: ${excess} exceeds the context window. ` +
    `This model's maximum context length is ${contextWindow} tokens${length}.`
  )
}
