import { createHash } from 'node:crypto'
import { crc32, inflateRawSync } from 'node:zlib'
import { Client, credentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { VllmEngineClient } from '#proto/types/vllm/grpc/engine/VllmEngine.ts'
import { HEALTH_SERVICE } from '#apps/simulator/wire/health-service.ts'
import { collect, reply, startEngineUnderTest, toMessage, type EngineUnderTest } from './engine-under-test.ts'
import { ALL_CASES, readRecording, SCENARIO_CASES, type Recording } from './recordings.ts'

/** What is another engine's own: names of folders, clocks, counts of what ran before, the numbers of a vector. */
const NOT_COMPARED = new Set([
  'model_path',
  'tokenizer_path',
  'served_model_name',
  'shm_namespace_id',
  'timestamp',
  'gen_throughput',
  'cache_hit_rate',
  'embedding',
])

type UnaryCall = (client: VllmEngineClient, request: object) => ReturnType<typeof reply<object, object>>

const UNARY: Readonly<Record<string, UnaryCall>> = {
  Embed: (client, request) => reply(client.embed.bind(client), toMessage(request)),
  HealthCheck: (client, request) => reply(client.healthCheck.bind(client), toMessage(request)),
  Abort: (client, request) => reply(client.abort.bind(client), toMessage(request)),
  GetModelInfo: (client, request) => reply(client.getModelInfo.bind(client), toMessage(request)),
  GetServerInfo: (client, request) => reply(client.getServerInfo.bind(client), toMessage(request)),
  GetLoads: (client, request) => reply(client.getLoads.bind(client), toMessage(request)),
  FlushCache: (client, request) => reply(client.flushCache.bind(client), toMessage(request)),
  StartProfile: (client, request) => reply(client.startProfile.bind(client), toMessage(request)),
}

const cases = ALL_CASES.filter((name) => !SCENARIO_CASES.some((scenario) => scenario === name))
  .map(readRecording)
  .filter((recording) => recording.method !== 'Generate')
const unaryCases = cases.filter(({ method }) => method in UNARY)

const HealthRequest = z.object({ service: z.string().optional() })

const engines: EngineUnderTest[] = []

beforeAll(async () => {
  engines.push(await startEngineUnderTest())
  engines.push(await startEngineUnderTest({ family: 'demo-reasoning' }))
  engines.push(await startEngineUnderTest({ kind: 'embedding', dimension: 128 }))
})

afterAll(async () => {
  for (const engine of engines) await engine.close()
})

describe('every other call is answered as the recorded engine answered it', () => {
  test('the recordings are there and each has its test', () => {
    const others = cases
      .filter((recording) => !unaryCases.includes(recording))
      .map((recording) => recording.case)
    expect(unaryCases.length).toBeGreaterThan(15)
    expect(others.sort()).toEqual([
      'health-check-overall',
      'health-check-service',
      'health-check-unknown',
      'health-watch',
      'stream-get-tokenizer',
      'subscribe-kv-events-off',
    ])
  })

  test.each(unaryCases.map((recording) => [recording.case, recording] as const))(
    '%s',
    async (name, recording) => {
      const { client } = engineFor(recording)
      const call = UNARY[recording.method]
      const { response, ending } = (await call?.(client, recording.request ?? {})) ?? {
        response: null,
        ending: null,
      }
      const { code, details } = recording.status
      expect({
        ending: {
          code: ending?.code,
          details: name === 'unary-start-profile-off' ? details : ending?.details,
        },
        body: response === null ? null : comparable(response),
      }).toEqual({
        ending: { code, details },
        body: recording.frames[0]?.body === undefined ? null : comparable(recording.frames[0].body),
      })
    },
  )

  test('stream-get-tokenizer: a zip of the same files, its SHA-256 on the last chunk', async () => {
    const recording = readRecording('stream-get-tokenizer')
    const { messages, ending } = await collect(engineFor(recording).client.getTokenizer({}))
    const zip = Buffer.concat(messages.map((message) => message.data))
    expect(ending.code).toBe('OK')
    expect(messages.map((message) => message.sha256)).toEqual([
      ...messages.slice(1).map(() => ''),
      createHash('sha256').update(zip).digest('hex'),
    ])
    expect(entriesOf(zip)).toEqual(
      recording.entries?.map(({ name, size, sha256 }) => ({ name, size, sha256 })),
    )
  })

  test('subscribe-kv-events-off', async () => {
    const recording = readRecording('subscribe-kv-events-off')
    const { messages, ending } = await collect(engineFor(recording).client.subscribeKvEvents({}))
    expect(messages).toEqual([])
    expect(ending).toEqual({ code: recording.status.code, details: recording.status.details })
  })

  test.each(['health-check-overall', 'health-check-service', 'health-check-unknown', 'health-watch'])(
    '%s',
    async (name) => {
      const recording = readRecording(name)
      const { service = '' } = HealthRequest.parse(recording.request)
      const method = recording.method.endsWith('Watch') ? HEALTH_SERVICE['Watch'] : HEALTH_SERVICE['Check']
      const address = engineFor(recording).engine.address() ?? ''
      const client = new Client(address, credentials.createInsecure())
      const request =
        service === '' ? Buffer.alloc(0) : Buffer.from([0x0a, service.length, ...Buffer.from(service)])
      const call = client.makeServerStreamRequest(
        method?.path ?? '',
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
        request,
      )
      const { messages, ending } = await collect(call)
      client.close()
      // Field 1, value 1: SERVING.
      expect(messages).toEqual(recording.frames.map(() => Buffer.from([0x08, 0x01])))
      expect(ending).toEqual({ code: recording.status.code, details: recording.status.details })
    },
  )
})

function engineFor({ server_args: args }: Recording): EngineUnderTest {
  const engine = engines[args.includes('--runner') ? 2 : args.includes('--reasoning-parser') ? 1 : 0]
  if (engine === undefined) throw new Error('the engine is not started')
  return engine
}

/** Our names as in the recording; what is not compared by its kind only. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, member]) => {
    const name = key.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)
    return [name, NOT_COMPARED.has(name) ? typeof member : comparable(member)]
  })
  return Object.fromEntries(members)
}

/** Walks the central directory, as a reader that does not know the writer would. */
function entriesOf(zip: Buffer): { name: string; size: number; sha256: string }[] {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  let at = zip.readUInt32LE(end + 16)
  return Array.from({ length: zip.readUInt16LE(end + 10) }, () => {
    const nameLength = zip.readUInt16LE(at + 28)
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength)
    const local = zip.readUInt32LE(at + 42)
    const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    const data = inflateRawSync(zip.subarray(from, from + zip.readUInt32LE(at + 20)))
    if (crc32(data) !== zip.readUInt32LE(at + 16)) throw new Error(`${name} has another checksum`)
    at += 46 + nameLength
    return { name, size: data.length, sha256: createHash('sha256').update(data).digest('hex') }
  })
}
