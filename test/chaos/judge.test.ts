import { expect, test } from 'vitest'
import type { Ask } from './asks.ts'
import type { Call } from './call.ts'
import { judge, type Known } from './judge.ts'
import { readAnswer } from './read-answer.ts'

const ASK: Ask = {
  name: 'a',
  model: 'demo-chat',
  path: '/chat/completions',
  shape: 'chat-stream',
  headers: {},
  body: {},
  guided: false,
}

const USAGE = {
  prompt_tokens: 5,
  completion_tokens: 4,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
}

const event = (data: object) => `data: ${JSON.stringify({ id: 'chatcmpl-1', ...data })}\n\n`
const delta = (fields: object, finish: string | null = null) =>
  event({ choices: [{ delta: fields, finish_reason: finish }] })
const ROLE = delta({ role: 'assistant', content: '' })
const TOKENS = ['a0 ', 'b1 ', 'c2'].map((content) => delta({ content }))
const END = delta({}, 'stop')
const LAST = event({ choices: [], usage: USAGE })
const DONE = 'data: [DONE]\n\n'
const WHOLE = [ROLE, ...TOKENS, END, LAST, DONE]
const FAILED = `data: ${JSON.stringify({ error: { code: 'upstream_error' } })}\n\n`

const KNOWN: Known = {
  answer: readAnswer('chat-stream', WHOLE.join('')),
  bytes: WHOLE.join('').length,
  promptTokens: 5,
  completionTokens: 4,
}

function judged(
  body: readonly string[],
  fields: Partial<Call> = {},
  { killedMs, isPoor = false }: { killedMs?: number; isPoor?: boolean } = {},
) {
  const call: Call = {
    gateway: 'gateway-1',
    id: 'an-id',
    status: 200,
    body: body.join(''),
    end: 'complete',
    startMs: 5_000,
    endMs: 9_000,
    ...fields,
  }
  const gatewayEnds = killedMs === undefined ? [] : [{ atMs: killedMs, how: 'killed' as const }]
  return judge({ ask: ASK, known: KNOWN, call, isPoor, gatewayEnds, deadlineMs: 60_000 })
}

const without = (index: number) => WHOLE.filter((_, at) => at !== index)

test('the known answer is exact', () => {
  expect(judged(WHOLE)).toMatchObject({ kind: 'exact', usage: { prompt: 5, completion: 4 } })
})

test.each([
  ['a lost token', without(2)],
  ['a doubled token', WHOLE.toSpliced(2, 0, TOKENS[0] ?? '')],
  ['tokens in another order', [ROLE, TOKENS[1], TOKENS[0], TOKENS[2], END, LAST, DONE]],
  ['a token too many', [ROLE, ...TOKENS, delta({ content: ' d3' }), END, LAST, DONE]],
  ['a last token that is lost', without(3)],
  ['no finish', without(4)],
  ['no usage', without(5)],
  ['two finishes', WHOLE.toSpliced(4, 0, END)],
  ['two ends', [...WHOLE, DONE]],
  ['a second role', WHOLE.toSpliced(2, 0, ROLE)],
  ['a wrong token before an error', [ROLE, TOKENS[1], FAILED, DONE]],
  [
    'another usage',
    [ROLE, ...TOKENS, END, event({ choices: [], usage: { ...USAGE, completion_tokens: 5 } }), DONE],
  ],
])('wrong: %s', (_, body) => {
  expect(judged(body.map((each) => each ?? ''))).toMatchObject({ kind: 'wrong' })
})

test('an error after a right beginning is an honest error', () => {
  expect(judged([ROLE, TOKENS[0] ?? '', FAILED, DONE])).toEqual({
    kind: 'error',
    code: 'upstream_error',
    streamed: true,
  })
  expect(judged([': keep-alive\n\n', FAILED, DONE])).toMatchObject({ kind: 'error', streamed: false })
  const body = [JSON.stringify({ error: { code: 'model_unavailable' } })]
  expect(judged(body, { status: 503 })).toMatchObject({ kind: 'error', streamed: false })
})

test('a refusal that blames the caller is wrong', () => {
  const body = [JSON.stringify({ error: { code: 'invalid_request' } })]
  expect(judged(body, { status: 400 })).toMatchObject({ kind: 'wrong' })
})

const CUT_USAGE = event({ choices: [], usage: { ...USAGE, completion_tokens: 2 } })
const CUT = [ROLE, ...TOKENS.slice(0, 2), delta({}, 'length'), CUT_USAGE, DONE]
const refusal = (available: string) => [
  JSON.stringify({
    error: { code: 'insufficient_credits', message: `Not enough credits: ${available} available, 0.1 held.` },
  }),
]

test('an answer that ends as length is right for an account with few credits alone', () => {
  expect(judged(CUT, {}, { isPoor: true })).toMatchObject({ kind: 'unpaid', usage: { completion: 2 } })
  expect(judged(CUT)).toMatchObject({ kind: 'wrong' })
  expect(judged(CUT.toSpliced(1, 1), {}, { isPoor: true })).toMatchObject({ kind: 'wrong' })
})

test('a 402 is right for an account with few credits alone, and only if they do not suffice', () => {
  expect(judged(refusal('0.00001'), { status: 402 }, { isPoor: true })).toEqual({ kind: 'no-credits' })
  expect(judged(refusal('0.00001'), { status: 402 })).toMatchObject({ kind: 'wrong' })
  expect(judged(refusal('1'), { status: 402 }, { isPoor: true })).toMatchObject({ kind: 'wrong' })
  expect(judged(refusal('no'), { status: 402 }, { isPoor: true })).toMatchObject({ kind: 'wrong' })
})

test('a broken connection is only right when its gateway was killed', () => {
  const begun = [ROLE, TOKENS[0] ?? '']
  expect(judged(begun, { end: 'lost' })).toMatchObject({ kind: 'wrong' })
  expect(judged(begun, { end: 'lost' }, { killedMs: 8_000 })).toEqual({ kind: 'lost' })
  expect(judged(begun, { end: 'lost' }, { killedMs: 20_000 })).toMatchObject({ kind: 'wrong' })
  expect(judged([], { end: 'lost', status: null }, { killedMs: 8_000 })).toEqual({ kind: 'unreachable' })
  expect(judged([], { end: 'refused', status: null })).toEqual({ kind: 'unreachable' })
})

test('an answer without an end within the limit is wrong', () => {
  expect(judged([ROLE], { end: 'hang' })).toMatchObject({ kind: 'wrong' })
})

test('a client that hung up knows how much of the answer it had', () => {
  const outcome = judged([ROLE, TOKENS[0] ?? ''], { end: 'left' })
  expect(outcome).toMatchObject({ kind: 'left' })
  expect('share' in outcome && outcome.share).toBeCloseTo([ROLE, TOKENS[0]].join('').length / KNOWN.bytes)
})
