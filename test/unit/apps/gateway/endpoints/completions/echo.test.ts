import { expect, it } from 'vitest'
import { completions } from '#apps/gateway/endpoints/completions/endpoint.ts'
import { ChatRequest } from '#libs/contracts/generation-request.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const model = modelSpec({ id: 'org/demo' })
const prepare = (body: Record<string, unknown>) =>
  completions.prepare({ model: 'org/demo', prompt: 'Hi', ...body }, { find: () => model })

it('an echoed prompt reaches the model as it is, and the answer begins with it', () => {
  const { request, maxOutputTokens, options } = prepare({ echo: true, prompt: [' a\n'], max_tokens: 3 })
  expect(request.messages).toEqual([{ role: 'user', content: ' a\n' }])
  expect(request.rawPrompt).toEqual({ addsSpecialTokens: true })
  expect([maxOutputTokens, options.echo]).toEqual([3, ' a\n'])
  expect(ChatRequest.parse(request)).toEqual(request)
})

it.each([{}, { echo: false }, { echo: null }])('without echo, the prompt is a chat: %o', (body) => {
  const { request, options } = prepare(body)
  expect(request).not.toHaveProperty('rawPrompt')
  expect(options).not.toHaveProperty('echo')
})

it('the special tokens of the tokenizer may be left out', () => {
  const { request } = prepare({ echo: true, add_special_tokens: false })
  expect(request.rawPrompt).toEqual({ addsSpecialTokens: false })
})

it('the list of the log probabilities of a prompt is bounded', () => {
  const mostOf = (logprobs: number) =>
    prepare({ echo: true, logprobs, max_tokens: 1 }).request.rawPrompt?.mostTokens
  // The engine lists one token more than the caller asks for, at most 20, beside the token itself.
  expect([0, 1, 5, 20].map(mostOf)).toEqual([4_096, 2_730, 1_170, 390])
})

it('no output at all is wanted only with echo', () => {
  expect(prepare({ echo: true, max_tokens: 0 }).maxOutputTokens).toBe(0)
})

it.each([
  ['no output without echo', { echo: false, max_tokens: 0 }, 'max_tokens', "1, or 0 with 'echo'"],
  ['several prompts', { prompt: ['a', 'b'] }, 'prompt', 'send a request for each prompt'],
  ['several answers', { n: 2 }, 'n', "expected 1 with 'echo'"],
  ['a format', { response_format: { type: 'json_object' } }, 'response_format', 'expected no format'],
  ['a guided choice', { guided_choice: ['a'] }, 'guided_choice', 'expected no format'],
  ['an echo that is text', { echo: 'yes' }, 'echo', 'expected'],
  ['a minimum without output', { max_tokens: 0, min_tokens: 1 }, 'min_tokens', 'expected at most 0'],
  ['special tokens without echo', { echo: false, add_special_tokens: true }, 'add_special_tokens', 'false'],
])('%s: refused by name', (...[, body, param, message]) => {
  expect(() => prepare({ echo: true, ...body })).toThrow(
    expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining(message) }),
  )
})
