import { beforeAll, expect, test } from 'vitest'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../support/generation-job.ts'
import { processUnderTest, type Given } from './process-under-test.ts'

let tokenizer: Tokenizer

beforeAll(async () => {
  tokenizer = await loadTokenizer('models/tiny')
})

const process = async (given: Given = {}) => await processUnderTest(tokenizer, given)

const INPUTS = { kind: 'embedding', inputs: ['a', 'b'] } as const
const embedding = (fields: Partial<GenerationJob> = {}) => ({
  job: { request: { ...INPUTS, inputs: [...INPUTS.inputs] }, maxOutputTokens: 0, ...fields },
  inputs: { status: 'tokenized', inputs: [Uint32Array.of(1, 2), Uint32Array.of(3)], tokens: 3 } as const,
})

test('inputs are claimed with their exact tokens, embedded, and settled as prompt alone', async () => {
  const { result, events, settlements, seen } = await process(embedding())
  expect(result).toBe('ran')
  expect(events).toEqual([
    { type: 'generation-claimed', worker: 'worker-1', promptTokens: 3 },
    {
      type: 'generation-end',
      finishReason: 'stop',
      usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
    },
  ])
  expect(settlements).toEqual([['completed', 3, 0]])
  expect(seen.tokens).toBe(2)
})

test('an input that the model cannot read is the caller’s mistake and free', async () => {
  const { events, settlements } = await process({
    ...embedding(),
    inputs: { status: 'refused', reason: 'The input at index 1 has 9 tokens.' },
  })
  expect(events).toEqual([
    { type: 'generation-error', code: 'invalid_request', message: 'The input at index 1 has 9 tokens.' },
  ])
  expect(settlements).toEqual([['fault', 0, 0]])
})

test('a hold that does not pay the exact inputs is given back; one that pays them to the nano is enough', async () => {
  const { hold } = generationJob()
  const short = await process(embedding({ hold: { ...hold, amountNano: '2' } }))
  expect(short.events).toEqual([{ type: 'generation-declined', reason: 'hold-too-small', promptTokens: 3 }])
  const exact = await process(embedding({ hold: { ...hold, amountNano: '3' } }))
  expect(exact.settlements).toEqual([['completed', 3, 0]])
})

test.each([
  ['cancelled', [], [['cancelled', 2, 0]]],
  ['deadline', ['model_unavailable'], [['fault', 2, 0]]],
  ['worker-stopping', ['upstream_error'], [['fault', 2, 0]]],
] as const)(
  'embeddings that are stopped midway (%s) are no answer, and only what was embedded counts',
  async (reason, errors, settled) => {
    const { events, settlements } = await process({
      ...embedding(),
      async embed(run, onVector) {
        onVector(2)
        run.stop(reason)
        throw new Error('stopped')
      },
    })
    expect(events.slice(1)).toMatchObject(errors.map((code) => ({ type: 'generation-error', code })))
    expect(settlements).toEqual(settled)
  },
)
