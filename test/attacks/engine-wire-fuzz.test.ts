import { expect, test } from 'vitest'
import { createEngineOverTransport } from '#apps/worker/engine/engine-over-transport.ts'
import { startEngineUnderTest } from '../contract/engine-under-test.ts'
import { createHostileRequests } from '../contract/hostile-requests.ts'
import { runs } from '../support/long.ts'

// The simulated servicer in Rust passes on what a real one passes on, and its engine dies where a real one dies. So this
// engine lives through all requests only if the worker's own client sends none of them.

const WINDOW = 64
const REQUESTS = runs(500, 20_000)
const AT_ONCE = 8

test(`an engine that checks nothing by itself survives ${REQUESTS} hostile requests`, async () => {
  const under = await startEngineUnderTest({
    servicerVersion: '0.32.0+0.14.0-rust',
    maxModelLen: WINDOW,
    speed: 0,
  })
  const client = createEngineOverTransport(under.client)
  const { maxContextLength: window, vocabularySize: vocabulary } = await client.getModelInfo()
  expect(window).toBe(WINDOW)
  const next = createHostileRequests(20_000, { window, vocabulary })
  const ends: Record<string, number> = {}

  async function send(count: number) {
    for (let sent = 0; sent < count; sent += 1) {
      const { promptLogprobs = -1, ...request } = next()
      const end = await client
        .generate(isLossy(promptLogprobs) ? request : { ...request, promptLogprobs }, {
          signal: new AbortController().signal,
          onTokens: () => true,
        })
        .then(() => 'answered')
        .catch((error: unknown) => Object(error).kind)
      if (!under.engine.core().alive()) throw new Error(`the engine died of ${describe(request)}`)
      ends[end] = (ends[end] ?? 0) + 1
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, async () => await send(REQUESTS / AT_ONCE)))
  expect(Object.keys(ends).toSorted()).toEqual(['answered', 'refused'])
  expect(ends['answered']).toBeGreaterThan(REQUESTS / 5)
  expect(ends['refused']).toBeGreaterThan(REQUESTS / 5)
  await under.close()
})

/**
 * Returns whether a request with this number loses tokens on this engine. A stream whose end is lost never ends, so
 * these requests are sent without the number. Each other number is sent.
 */
const isLossy = (promptLogprobs: number) => [-1, 0, 1, 2, 3, 4, 20].includes(promptLogprobs)

const describe = (request: object) =>
  JSON.stringify(request, (_, value) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  )
