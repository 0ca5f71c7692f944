import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createEngineOverTransport } from '#apps/worker/engine/engine-over-transport.ts'
import { collectGeneration } from '#test/support/collect-generation.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { callGenerate, collect, reply, service } from './raw-calls.ts'
import { readRecording } from './recordings.ts'

/**
 * The pair with misleading codes: vLLM 0.32.0 with servicer 0.8.0 refuses calls with INTERNAL. Its messages are the
 * same as those of the newer recorded pair. The codes were seen on a real engine, call by call.
 */
const Seen = z.object({ codes: z.record(z.string(), z.enum(['INTERNAL', 'INVALID_ARGUMENT'])) })
const FILE = new URL('../fixtures/engine/refusals-0.32.0-servicer-0.8.0.json', import.meta.url)
const seen = Object.entries(Seen.parse(JSON.parse(readFileSync(FILE, 'utf8'))).codes)

/**
 * Cases in which the simulator's message may differ: the engine's message comes from Python or from a grammar library,
 * or the simulator lacks the feature and refuses it with a message of its own.
 */
const OTHER_WORDS = new Set([
  'error-bad-grammar',
  'error-bad-kv-transfer-json',
  'error-bad-regex',
  'error-n2-greedy',
])

describe.each(Object.entries(TRANSPORTS))('over %s', (transport, create) => {
  let under: EngineUnderTest
  beforeAll(async () => {
    under = await startEngineUnderTest(
      { servicerVersion: '0.32.0+0.8.0' },
      { transport: transport === 'http2' ? 'http2' : 'grpc-js' },
    )
  })
  afterAll(async () => {
    await under.close()
  })

  test('there are refusals of both kinds', () => {
    expect(seen.filter(([, code]) => code === 'INTERNAL').length).toBeGreaterThan(30)
    expect(seen.filter(([, code]) => code === 'INVALID_ARGUMENT')).toHaveLength(1)
  })

  test.each(seen)('%s ends %s', async (name, code) => {
    const { request, status } = readRecording('0.32.0+0.14.1', name)
    const { messages, ending } = await collect(callGenerate(under.client, request ?? {}))
    expect(messages).toEqual([])
    expect({ ...ending, details: OTHER_WORDS.has(name) ? status.details : ending.details }).toEqual({
      code,
      details: status.details,
    })
  })

  test('an embedding is refused by the servicer first, then by the engine', async () => {
    const codeOf = async (request: object) => (await reply(under.client, service.Embed, request)).ending.code
    expect(await codeOf({})).toBe('INVALID_ARGUMENT')
    expect(await codeOf({ tokenized: { inputIds: [1, 2] } })).toBe('INTERNAL')
  })

  test('the client calls it the fault of the request all the same, because the engine is healthy', async () => {
    const client = createEngineOverTransport(create({ address: under.engine.address() ?? '' }))
    const request = {
      requestId: 'refused',
      promptIds: Uint32Array.of(2_048),
      sampling: {},
      maxTokens: 1,
      endIds: [],
      stop: [],
      constraint: null,
      cacheSalt: null,
    }
    await expect(collectGeneration(client, request)).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('Token id 2048 is out of vocabulary'),
    })
    client.close()
  })
})
