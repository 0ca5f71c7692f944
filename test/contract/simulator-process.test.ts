import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHttp2Transport } from '#apps/worker/engine/transport/http2-transport.ts'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { freePort } from '../support/free-port.ts'
import { startApp, type RunningApp } from '../support/processes.ts'
import { callGenerate, collect, reply, service } from './raw-calls.ts'

let simulator: RunningApp
let chat: Transport
let embedding: Transport
const addresses = { chat: '', embedding: '' }

beforeAll(async () => {
  addresses.chat = `127.0.0.1:${await freePort()}`
  addresses.embedding = `127.0.0.1:${await freePort()}`
  simulator = await startApp('simulator', {
    SIMULATOR_ENGINES: JSON.stringify([
      { listen: addresses.chat, model: 'demo', files: 'demo', stepMs: 1 },
      {
        listen: addresses.embedding,
        model: 'demo-embedding',
        files: 'demo',
        kind: 'embedding',
        dimension: 32,
      },
    ]),
  })
  chat = connect(addresses.chat)
  embedding = connect(addresses.embedding)
})

afterAll(async () => {
  chat.close()
  embedding.close()
  await simulator.stop()
})

test('one process serves several engines, each its own model', async () => {
  const infos = [chat, embedding].map((client) => reply(client, service.GetModelInfo, {}))
  const seen = (await Promise.all(infos)).map(({ response }) => [
    response?.servedModelName,
    response?.isGeneration,
  ])
  expect(seen).toEqual([
    ['demo', true],
    ['demo-embedding', false],
  ])
})

test('embeddings have the configured dimension', async () => {
  const { response } = await reply(embedding, service.Embed, { tokenized: { inputIds: [1, 2, 3] } })
  expect(response).toMatchObject({ promptTokens: 3, embeddingDim: 32 })
  expect(response?.embedding).toHaveLength(32)
})

test('a chat is answered, and the metrics count it', async () => {
  const tokenizer = await loadTokenizer('models/tiny')
  const prompt = '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n'
  const { messages } = await collect(
    callGenerate(chat, {
      tokenized: { inputIds: Array.from(await tokenizer.encode(prompt)) },
      samplingParams: { temperature: 0, maxTokens: 50 },
      stream: true,
    }),
  )
  const ids = messages.flatMap((message) => message.chunk?.tokenIds ?? [])
  expect(tokenizer.decode(ids)).toBe('You said: Hello<|im_end|>')
  const metrics = await (await fetch(`${simulator.opsUrl}/metrics`)).text()
  expect(metrics).toContain(`millrace_simulator_tokens_total{model="demo"} ${ids.length}`)
  expect(metrics).toContain('millrace_simulator_running{model="demo"} 0')
})

test('faults are shown, changed for one engine and refused when they do not exist', async () => {
  expect(await post({ engine: 'demo', slowness: 3 })).toMatchObject({
    status: 200,
    body: [
      { model: 'demo', faults: { slowness: 3, hangs: false } },
      { model: 'demo-embedding', faults: { slowness: 1 } },
    ],
  })
  expect(await (await fetch(`${simulator.opsUrl}/faults`)).json()).toMatchObject([
    { faults: { slowness: 3 } },
    {},
  ])
  expect((await post({ engine: 'demo', slowness: 1 })).status).toBe(200)
  expect((await post({ explodes: true })).status).toBe(400)
  expect((await post({ engine: 'nobody', hangs: true })).status).toBe(404)
})

test('an engine that refuses connections is not ready, and comes back at the same address', async () => {
  await post({ engine: 'demo', refuseConnections: true })
  expect((await fetch(`${simulator.opsUrl}/readyz`)).status).toBe(503)
  expect(await healthOf(addresses.chat)).toBe('UNAVAILABLE')
  await post({ engine: 'demo', refuseConnections: false })
  expect((await fetch(`${simulator.opsUrl}/readyz`)).status).toBe(200)
  expect(await healthOf(addresses.chat)).toBe('healthy')
})

test('a dead engine is started again, after its start delay, when the fault is cleared', async () => {
  await post({ engine: 'demo', dead: true, startDelayMs: 300 })
  expect(await healthOf(addresses.chat)).toBe('unhealthy')
  const restarted = post({ engine: 'demo', dead: false })
  await expect.poll(async () => await healthOf(addresses.chat)).toBe('UNAVAILABLE')
  expect((await restarted).status).toBe(200)
  expect(await healthOf(addresses.chat)).toBe('healthy')
})

test('SIGTERM refuses new calls, lets a short stream end and then the process', async () => {
  const call = callGenerate(chat, {
    tokenized: { inputIds: [1, 2, 3] },
    samplingParams: { maxTokens: 400, ignoreEos: true },
    stream: true,
  })
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const reading = collect(call, () => begin())
  await begun
  simulator.signal('SIGTERM')
  const { messages, ending } = await reading
  expect(ending.code).toBe('OK')
  expect(messages.at(-1)?.complete?.finishReason).toBe('length')
  expect(await simulator.exited).toBe('exit code 0')
})

async function post(body: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${simulator.opsUrl}/faults`, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: await response.json() }
}

/** Asks over a new connection, because an old one may be closing. */
async function healthOf(address: string): Promise<string> {
  const client = connect(address)
  try {
    const { response, ending } = await reply(client, service.HealthCheck, {})
    if (response === null) return ending.code
    return response.healthy ? 'healthy' : 'unhealthy'
  } finally {
    client.close()
  }
}

function connect(address: string): Transport {
  return createHttp2Transport({ address })
}
