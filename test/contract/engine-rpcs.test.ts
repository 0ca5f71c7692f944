import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, inflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { HEALTH_SERVICE } from '#apps/simulator/wire/health-service.ts'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { casesOf, isUnary, OTHER_RPC_CASES, type UnaryMethod } from './cases.ts'
import { startEngineUnderTest } from './engine-under-test.ts'
import { expectRecorded } from './expect-recorded.ts'
import { collect, openStream, reply, service, toMessage } from './raw-calls.ts'
import { openTarget, TARGETS, type OpenTarget } from './targets.ts'

/** Values that differ between engines: names of folders, clocks, counts of earlier calls, the numbers of a vector. */
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

type UnaryCall = (client: Transport, request: object) => ReturnType<typeof reply<object, object>>

const UNARY: Readonly<Record<UnaryMethod, UnaryCall>> = {
  Embed: (client, request) => reply(client, service.Embed, toMessage(request)),
  HealthCheck: (client, request) => reply(client, service.HealthCheck, toMessage(request)),
  Abort: (client, request) => reply(client, service.Abort, toMessage(request)),
  GetModelInfo: (client, request) => reply(client, service.GetModelInfo, toMessage(request)),
  GetServerInfo: (client, request) => reply(client, service.GetServerInfo, toMessage(request)),
  GetLoads: (client, request) => reply(client, service.GetLoads, toMessage(request)),
  FlushCache: (client, request) => reply(client, service.FlushCache, toMessage(request)),
  StartProfile: (client, request) => reply(client, service.StartProfile, toMessage(request)),
}

const HealthRequest = z.object({ service: z.string().optional() })

describe.each(TARGETS.map((target) => [target.name, target] as const))('%s', (_, target) => {
  const { kind, servicerVersion } = target
  const cases = casesOf(servicerVersion, 'rpcs')
  const unaryCases = cases.filter(([name, { method }]) => isUnary(method) && !isOther(name))
  const health = cases.filter(([name]) => name.startsWith('health-'))
  let open: OpenTarget
  beforeAll(async () => {
    open = await openTarget(target)
  })
  afterAll(async () => {
    await open.close()
  })

  test('there are cases', () => {
    expect(unaryCases.length).toBeGreaterThanOrEqual(9)
    expect(health).toHaveLength(4)
  })

  test.for(unaryCases)('%s', async ([name, recording], context) => {
    const client = await open.clientFor(recording)
    if ('missing' in client) return context.skip(client.missing)
    const { method, request } = recording
    if (!isUnary(method)) throw new Error(`${method} is not unary`)
    const { response, ending } = await UNARY[method](client, request ?? {})
    const { code, details } = recording.status
    expectRecorded(
      {
        // The simulator's message does not contain the name of the recorded option.
        ending: { code: ending.code, details: name === 'unary-start-profile-off' ? details : ending.details },
        body: response === null ? null : comparable(response),
      },
      {
        ending: { code, details },
        body: recording.responses[0]?.body === undefined ? null : comparable(recording.responses[0].body),
      },
    )
  })

  test.for(cases.filter(([name]) => name === 'unary-unknown-method'))(
    '%s',
    async ([, recording], context) => {
      const client = await open.clientFor(recording)
      if ('missing' in client) return context.skip(client.missing)
      const { ending } = await reply(client, service.FlushCache, {})
      expect(ending).toEqual({ code: recording.status.code, details: recording.status.details })
    },
  )

  test.for(cases.filter(([name]) => name === 'stream-get-tokenizer' && kind !== 'recordings'))(
    '%s: a zip of the same files, its SHA-256 on the last chunk',
    async ([, recording], context) => {
      const client = await open.clientFor(recording)
      if ('missing' in client) return context.skip(client.missing)
      const { zip } = await readBundle(client)
      expect(entriesOf(zip)).toEqual(
        recording.entries?.map(({ name, size, sha256 }) => ({ name, size, sha256 })),
      )
    },
  )

  test.for(cases.filter(([name]) => name === 'alt-get-tokenizer-multi-chunk' && kind === 'simulator'))(
    '%s: the bundle of a larger model comes in chunks of 64 KiB',
    async ([, recording]) => {
      const folder = mkdtempSync(join(tmpdir(), 'millrace-models-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      cpSync('models', folder, { recursive: true })
      // The filler cannot be compressed, like the recorded filler.
      const filler = Buffer.concat(
        Array.from({ length: 7_500 }, (_, i) => createHash('sha256').update(String(i)).digest()),
      )
      writeFileSync(join(folder, 'tiny', 'filler.tiktoken'), filler)
      const under = await startEngineUnderTest(
        { servicerVersion },
        { transport: target.transport, modelsFolder: folder },
      )
      onTestFinished(() => under.close())
      const { zip, sizes } = await readBundle(under.client)
      const named = recording.entries?.map(({ name, size }) => [name, size])
      expect(entriesOf(zip).map(({ name, size }) => [name, size])).toEqual(named)
      expect(sizes.slice(0, -1)).toEqual([65_536, 65_536, 65_536])
      const recorded = z
        .array(z.object({ body: z.object({ data_bytes: z.int() }) }))
        .parse(recording.responses)
      expect(recorded.slice(0, -1).map(({ body }) => body.data_bytes)).toEqual(sizes.slice(0, -1))
    },
  )

  test.for(cases.filter(([name]) => name === 'subscribe-kv-events-off'))(
    '%s',
    async ([, recording], context) => {
      const client = await open.clientFor(recording)
      if ('missing' in client) return context.skip(client.missing)
      const { messages, ending } = await collect(
        openStream(client, service.SubscribeKvEvents, { request: {} }),
      )
      expect(messages).toEqual([])
      expect(ending).toEqual({ code: recording.status.code, details: recording.status.details })
    },
  )

  test.for(health)('%s', async ([, recording], context) => {
    const client = await open.clientFor(recording)
    if ('missing' in client) return context.skip(client.missing)
    const asked = HealthRequest.parse(recording.request).service ?? ''
    const name = recording.method.endsWith('Watch') ? 'Watch' : 'Check'
    const method = {
      path: HEALTH_SERVICE[name]?.path ?? '',
      requestSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => Buffer.from(bytes),
    }
    const request = asked === '' ? Buffer.alloc(0) : Buffer.from([0x0a, asked.length, ...Buffer.from(asked)])
    const answered =
      name === 'Watch'
        ? await collect(openStream(client, method, { request }))
        : await reply(client, method, request)
    const messages = 'messages' in answered ? answered.messages : [answered.response]
    // Protobuf: field 1 has the value 1, which is SERVING.
    const serving = Buffer.from([0x08, 0x01])
    expect(messages.filter((message) => message !== null)).toEqual(recording.responses.map(() => serving))
    expect(answered.ending).toEqual({ code: recording.status.code, details: recording.status.details })
  })
})

async function readBundle(client: Transport): Promise<{ zip: Buffer; sizes: number[] }> {
  const { messages, ending } = await collect(openStream(client, service.GetTokenizer, { request: {} }))
  const zip = Buffer.concat(messages.map((message) => message.data))
  expect(ending.code).toBe('OK')
  expect(messages.map((message) => message.sha256)).toEqual([
    ...messages.slice(1).map(() => ''),
    createHash('sha256').update(zip).digest('hex'),
  ])
  return { zip, sizes: messages.map(({ data }) => data.length) }
}

function isOther(name: string): boolean {
  return OTHER_RPC_CASES.some((other) => other === name)
}

/**
 * Returns a value in the form in which it is compared. Names are as in the recording. A value that is not compared is
 * replaced by its type. Left out are fields that are not on the wire: empty fields, and fields that an older servicer
 * lacks.
 */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, member]) => {
    const name = key.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)
    return [name, NOT_COMPARED.has(name) ? typeof member : comparable(member)] as const
  })
  return Object.fromEntries(members.filter(([, member]) => !isEmpty(member)))
}

function isEmpty(value: unknown): boolean {
  return value === 0 || value === '' || value === false || (Array.isArray(value) && value.length === 0)
}

/** Reads the entries from the central directory. Its code is independent of the writer's. */
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
