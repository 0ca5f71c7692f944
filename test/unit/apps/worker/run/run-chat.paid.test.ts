import { expect, test } from 'vitest'
import type { EngineEnd } from '#apps/worker/engine/engine-client.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { END, processUnderTest, tokens } from '../process-under-test.ts'

// Tests outputs that their holds do not pay for completely.

const tokenizer = await loadTokenizer('models/tiny')

const encode = async (text: string) => Array.from(await tokenizer.encode(text))
const end = (finishReason: 'stop' | 'length'): EngineEnd => ({ ...END, finishReason })

/** A hold for 3 tokens of prompt, and for 5 of the 100 wanted tokens of output, which cost twice as much. */
const small = { ...generationJob().hold, amountNano: '13', outputTokens: 5 }
const paysOutput = (count: number) => String(3 + 2 * count)
const ofType = (events: readonly GenerationEvent[], type: GenerationEvent['type']) =>
  events.filter((event) => event.type === type)

test('gets the whole answer if the hold grows in time; the engine is not limited by the hold', async () => {
  const whole = await encode('one two three four five six seven eight nine ten')
  const { events, ids, requests, seen } = await processUnderTest(tokenizer, {
    job: { hold: small },
    async *engine(run) {
      for (const [at, id] of whole.entries()) {
        if (at === 4) run.onHold?.({ amountNano: paysOutput(50), isFinal: false })
        yield tokens([id])
      }
      yield end('stop')
    },
  })
  expect(requests).toMatchObject([{ maxTokens: 100 }])
  expect(ids).toEqual(whole)
  expect(ofType(events, 'generation-short')).toEqual([
    { type: 'generation-short', amountNano: '13', moreTokens: 95 },
  ])
  const usage = { completionTokens: whole.length }
  expect(events.at(-1)).toMatchObject({ type: 'generation-end', finishReason: 'stop', usage })
  expect(seen.moneyEnds).toBe(0)
})

test('ends as length behind the last paid token once no more money will come', async () => {
  const whole = await encode('one two three four five six seven eight nine ten')
  const { events, ids, seen } = await processUnderTest(tokenizer, {
    job: { hold: small },
    async *engine(run) {
      run.onHold?.({ amountNano: paysOutput(6), isFinal: false })
      run.onHold?.({ amountNano: paysOutput(6), isFinal: true })
      yield tokens(whole.slice(0, 8))
      throw new Error('the engine was asked for more')
    },
  })
  expect(ids).toEqual(whole.slice(0, 6))
  expect(events.at(-1)).toMatchObject({ finishReason: 'length', usage: { completionTokens: 6 } })
  expect(seen.moneyEnds).toBe(1)
})

test('is whole if it ends with the last paid token, also if no more money would come', async () => {
  const whole = (await encode('one two three four five six seven')).slice(0, 5)
  const { events, ids, seen } = await processUnderTest(tokenizer, {
    job: { hold: { ...small, clamped: true } },
    async *engine(run) {
      run.onHold?.({ amountNano: '13', isFinal: true })
      yield tokens(whole)
      yield end('stop')
    },
  })
  expect(ids).toEqual(whole)
  expect(events.at(-1)).toMatchObject({ finishReason: 'stop' })
  expect(seen.moneyEnds).toBe(0)
})

test('waits behind the last paid token, also where the engine has ended, and is passed on once it is paid', async () => {
  const whole = await encode('one two three four five six seven eight nine ten')
  const { events, groups, ids } = await processUnderTest(tokenizer, {
    job: { hold: small },
    async *engine(run) {
      yield tokens(whole)
      setImmediate(() => run.onHold?.({ amountNano: paysOutput(whole.length), isFinal: false }))
      yield end('stop')
    },
  })
  expect(ids).toEqual(whole)
  expect(
    groups
      .flat()
      .map((entry) => entry.ids.length)
      .filter(Boolean),
  ).toEqual([5, whole.length - 5])
  expect(events.at(-1)).toMatchObject({ finishReason: 'stop', usage: { completionTokens: whole.length } })
})

test('what waits for money is dropped when the run is handed back', async () => {
  const whole = await encode('one two three four five six seven eight nine ten')
  const { events, ids } = await processUnderTest(tokenizer, {
    job: { hold: small },
    async *engine(run) {
      yield tokens(whole)
      setImmediate(() => run.stop('worker-stopping'))
      yield end('stop')
    },
  })
  expect(ids).toEqual(whole.slice(0, 5))
  expect(events.at(-1)).toMatchObject({ type: 'generation-declined', reason: 'worker-stopping' })
})
