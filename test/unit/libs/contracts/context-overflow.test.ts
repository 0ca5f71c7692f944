import { expect, test } from 'vitest'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'

const message = toOverflowMessage({ contextWindow: 32_768, tokens: 40_000 })

/**
 * The patterns that frameworks search for, copied from their code. Lower-case patterns are matched with lower-case
 * text.
 */
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
  ['Claude Code, with both numbers', /prompt is too long: 40000 tokens > 32768 maximum/],
  ['agents that read the number of tokens', /maximum context length is (\d+) tokens/],
]

test.each(PATTERNS)('%s recognizes an overflow by its words', (_framework, pattern) => {
  expect(message).toMatch(pattern)
})

test('the words never look like a refusal for another reason', () => {
  // Strands and LiteLLM take these words for a rate limit or for missing credits.
  expect(message).not.toMatch(/rate limit|too many requests|quota|billing|credit/i)
})

test('a length that is not known is not named', () => {
  expect(toOverflowMessage({ contextWindow: 8 })).toBe(
    "The prompt is too long: it exceeds the context window. This model's maximum context length is 8 tokens.",
  )
})
