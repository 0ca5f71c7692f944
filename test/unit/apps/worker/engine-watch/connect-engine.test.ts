import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import { connectEngine } from '#apps/worker/engine-watch/connect-engine.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { startEngineServer } from '../engine/engine-server.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

async function connect(given: {
  server: object
  maxNumSeqs?: number
  reasoning?: ModelFamily['reasoning']
  isGeneration?: boolean
  version?: string
  servesLossy?: boolean
  healthy?: () => boolean
  problem?: string
  /** The host with which the worker calls the engine. */
  host?: string
}) {
  const { healthy, problem } = given
  const { address, stop } = await startEngineServer({
    ...(healthy !== undefined && { healthy }),
    ...(problem !== undefined && { problem }),
    unary: {
      GetModelInfo: {
        reply: { maxContextLength: 2_048, vocabSize: 2_009, isGeneration: given.isGeneration ?? true },
      },
      GetServerInfo: { reply: given.server },
      GetLoads: { reply: { version: given.version ?? '0.32.0', loads: [] } },
    },
  })
  closers.push(stop)
  let deaths = 0
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(JSON.parse(line).msg) })
  const { client, ...limits } = await connectEngine({
    address: address.replace('127.0.0.1', given.host ?? '127.0.0.1'),
    maxNumSeqs: given.maxNumSeqs,
    servesLossy: given.servesLossy ?? false,
    onDead: () => (deaths += 1),
    family: { reasoning: given.reasoning ?? 'none' },
    log,
  })
  closers.push(client.close)
  return { limits, warnings, deaths }
}

it('takes the limits that the engine reports, and the configured one first', async () => {
  const server = { maxNumSeqs: 8 }
  expect(await connect({ server })).toMatchObject({
    limits: {
      maxNumSeqs: 8,
      contextWindow: 2_048,
      vocabularySize: 2_009,
      release: '0.32.0 python',
      kind: 'chat',
    },
    warnings: [],
  })
  expect((await connect({ server, maxNumSeqs: 3 })).limits.maxNumSeqs).toBe(3)
})

it('warns once of an engine on another host, and never of one on this host', async () => {
  // This address is this host, although it does not look local.
  const { warnings } = await connect({ server: { maxNumSeqs: 8 }, host: '0.0.0.0' })
  expect(warnings).toEqual([expect.stringContaining('two workers on one engine take twice its slots')])
  for (const host of ['localhost', '127.0.0.1']) {
    expect((await connect({ server: { maxNumSeqs: 8 }, host })).warnings).toEqual([])
  }
})

it('an engine that does not generate embeds', async () => {
  const { limits } = await connect({ server: { maxNumSeqs: 8 }, isGeneration: false })
  expect(limits.kind).toBe('embedding')
})

it('rejects an engine when neither it nor the configuration says how much it can run', async () => {
  await expect(connect({ server: {} })).rejects.toThrow('set maxNumSeqs in WORKERS')
})

it.each([
  ['none', 'first_token', []],
  ['none', 'after_reasoning', [expect.stringContaining('without --reasoning-parser')]],
  ['none', '', []],
  ['harmony', 'first_token', []],
  ['harmony', 'after_reasoning', [expect.stringContaining('without --reasoning-parser')]],
  [
    { open: '<think>', close: '</think>' },
    'first_token',
    [expect.stringContaining('with --reasoning-parser')],
  ],
  [{ open: '<think>', close: '</think>' }, 'after_reasoning', []],
  [{ open: '<think>', close: '</think>' }, '', []],
] as const)('a family with reasoning %j on an engine whose grammars begin at %j', async (...row) => {
  const [reasoning, constrainedDecodingStart, expected] = row
  const server = { maxNumSeqs: 8, constrainedDecodingStart }
  expect((await connect({ server, reasoning })).warnings).toEqual(expected)
})

it.each([
  ['Engine is starting', 0],
  ['Engine is not alive', 2],
])('connects once the engine is healthy; %j means %j times that it is dead', async (problem, expected) => {
  let asked = 0
  const healthy = () => (asked += 1) > 2
  const { limits, deaths } = await connect({ server: { maxNumSeqs: 8 }, healthy, problem })
  expect(limits.release).toBe('0.32.0 python')
  expect([asked, deaths]).toEqual([3, expected])
})

it('rejects a release that loses tokens, unless it is to be served', async () => {
  const server = { maxNumSeqs: 8, serverType: 'vllm-grpc' }
  await expect(connect({ server })).rejects.toThrow('(vLLM 0.32.0 rust) loses tokens of its streams')
  const { limits, warnings } = await connect({ server, servesLossy: true })
  expect(limits.release).toBe('0.32.0 rust')
  expect(warnings).toEqual(['this release of the engine is not supported'])
})

it.each([
  ['0.33.0', { maxNumSeqs: 8 }],
  ['0.31.0', { maxNumSeqs: 8, serverType: 'vllm-grpc' }],
  ['', { maxNumSeqs: 8 }],
])('warns of version %j with the server %j, which was never tried', async (version, server) => {
  expect((await connect({ server, version })).warnings).toEqual([
    'this release of the engine is not supported',
  ])
})
