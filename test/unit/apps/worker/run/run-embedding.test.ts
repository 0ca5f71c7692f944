import { beforeAll, expect, test } from 'vitest'
import { VectorsNotTaken } from '#apps/worker/run/embedding/deliver-vectors.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { processUnderTest, type Given } from '../process-under-test.ts'

let tokenizer: Tokenizer

beforeAll(async () => {
  tokenizer = await loadTokenizer('models/tiny')
})

const process = async (given: Given = {}) => await processUnderTest(tokenizer, given)

const INPUTS = { kind: 'embedding', inputs: ['a', 'b'] } as const
const embedding = (fields: Partial<GenerationJob> = {}) => ({
  job: { request: { ...INPUTS, inputs: [...INPUTS.inputs] }, maxOutputTokens: 0, ...fields },
  inputs: {
    status: 'tokenized',
    inputs: [Uint32Array.of(1, 2), Uint32Array.of(3)],
    tokens: 3,
    longest: 2,
  } as const,
})

const declined = { type: 'generation-declined', promptTokens: 0, requirement: '', blame: 'none' }

test('inputs are claimed with their exact tokens and embedded; the end counts them as prompt alone', async () => {
  const { events, seen } = await process(embedding())
  expect(events).toEqual([
    { type: 'generation-claimed', worker: 'worker-1', promptTokens: 3, after: 0, guided: false, waitedMs: 5 },
    {
      type: 'generation-end',
      finishReason: 'stop',
      usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
    },
  ])
  expect(seen.tokens).toBe(2)
})

test('an input that the model cannot read is the caller’s mistake', async () => {
  const { events } = await process({
    ...embedding(),
    inputs: { status: 'refused', error: { code: 'invalid_request', message: 'Nothing to read.' } },
  })
  expect(events).toEqual([{ type: 'generation-error', code: 'invalid_request', message: 'Nothing to read.' }])
})

test('a hold that does not pay the exact inputs is given back; one that pays them to the nano is enough', async () => {
  const { hold } = generationJob()
  const short = await process(embedding({ hold: { ...hold, amountNano: '2' } }))
  expect(short.events).toEqual([{ ...declined, reason: 'hold-too-small', promptTokens: 3 }])
  const exact = await process(embedding({ hold: { ...hold, amountNano: '3' } }))
  expect(exact.events.at(-1)).toMatchObject({ type: 'generation-end' })
})

test('an input that only a larger engine holds is given back with the window that it needs', async () => {
  const { events } = await process({ ...embedding(), engineWindow: 1 })
  expect(events).toEqual([{ ...declined, reason: 'misfit', requirement: 'window:2' }])
})

test.each([
  ['unwanted', []],
  ['deadline', [{ type: 'generation-error', code: 'model_unavailable' }]],
  ['worker-stopping', [{ type: 'generation-declined', reason: 'worker-stopping' }]],
] as const)('embeddings that are stopped midway (%s) end without an answer', async (reason, last) => {
  const { events, usage } = await process({
    ...embedding(),
    async embed(run, onVector) {
      onVector(2)
      run.stop(reason)
      throw new Error('stopped')
    },
  })
  expect(events.slice(1)).toMatchObject(last)
  expect(usage?.promptTokens).toBe(2)
})

test('vectors that their gateway did not take are given back: it may have lost them, and begins again', async () => {
  const { events } = await process({
    ...embedding(),
    async embed(_run, onVector) {
      onVector(2)
      throw new VectorsNotTaken(10_000)
    },
  })
  expect(events.slice(1)).toEqual([{ ...declined, reason: 'incomplete' }])
})
