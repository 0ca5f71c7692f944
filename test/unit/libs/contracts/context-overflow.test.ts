import { expect, test } from 'vitest'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'

const message = toOverflowMessage({ contextWindow: 32_768, tokens: 40_000 })

/** What the frameworks look for, word for word as in their code; those that are lower case look at the text in lower case. */
const PATTERNS: readonly (readonly [framework: string, pattern: RegExp])[] = [
  ['langchain-openai, an answer with 400', /prompt is too long/],
  ['langchain-openai, an error within a stream', /exceeds the context window/],
  ['LiteLLM', /this model's maximum context length is/i],
  ['CrewAI', /maximum context length/i],
  ['Inspect with vLLM', /maximum context length/],
  ['Strands', /maximum context length/i],
  ['Agno', /context window/i],
  ['opencode', /exceeds the context window/i],
  ['Cline', /context window/i],
  ['Continue', /maximum context length/i],
  ['agents that read the number of tokens', /maximum context length is (\d+) tokens/],
]

test.each(PATTERNS)('%s recognizes an overflow by its words', (_framework, pattern) => {
  expect(message).toMatch(pattern)
})

test('the words never look like a refusal for another reason', () => {
  // Strands and LiteLLM read these as a rate limit, or as money.
  expect(message).not.toMatch(/rate limit|too many requests|quota|billing|credit/i)
})

test('a length that is not known is not named', () => {
  expect(toOverflowMessage({ contextWindow: 8 })).toBe(
    "The prompt is too long: it exceeds the context window. This model's maximum context length is 8 tokens.",
  )
})
