import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { Server, type ServerDuplexStream, Metadata } from '@grpc/grpc-js'
import { afterEach, expect, test } from 'vitest'
import { createBillingClient, type BillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { bindGrpc } from '#libs/grpc/serve-grpc.ts'
import type { ProtoGrpcType } from '#proto/types/billing.ts'
import type { MoneyCalls__Output } from '#proto/types/millrace/billing/MoneyCalls.ts'
import type { MoneyReplies } from '#proto/types/millrace/billing/MoneyReplies.ts'

// Tests billing's client against a server that misbehaves.

type Stream = ServerDuplexStream<MoneyCalls__Output, MoneyReplies>

let server: Server | undefined
let client: BillingClient | undefined

afterEach(() => {
  client?.close()
  server?.forceShutdown()
})

/** Starts a server and connects a client. `onCalls` gets each message with the number of its stream, from 1 on. */
async function connect(
  onCalls: (stream: Stream, message: MoneyCalls__Output, opened: number) => void,
  limits: { timeoutMs?: number; maxOutstanding?: number; gatherMs?: () => number } = {},
): Promise<BillingClient> {
  let opened = 0
  server = new Server()
  server.addService(loadProto<ProtoGrpcType>('billing.proto').millrace.billing.Billing.service, {
    Money(stream: Stream) {
      opened += 1
      const number = opened
      stream.sendMetadata(new Metadata())
      stream.on('data', (message: MoneyCalls__Output) => onCalls(stream, message, number))
    },
  })
  const port = await bindGrpc(server, '127.0.0.1:0')
  client = createBillingClient({ address: `127.0.0.1:${port}`, timeoutMs: 20_000, ...limits })
  return client
}

function answerAll(stream: Stream, { calls }: MoneyCalls__Output) {
  stream.write({ replies: calls.map(({ seq }) => ({ seq, reply: 'release', release: { released: true } })) })
}

/** Returns the number of active timers of this process. */
const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('calls of one turn travel as one message', async () => {
  const sizes: number[] = []
  const billing = await connect((stream, message) => {
    sizes.push(message.calls.length)
    answerAll(stream, message)
  })
  await Promise.all(Array.from({ length: 30 }, () => billing.release(randomUUID())))
  expect(sizes).toEqual([30])
})

test('with a gather time a lone call goes out at once, and those that come within it as one message', async () => {
  const sizes: number[] = []
  let gatherMs = 60_000
  const billing = await connect(
    (stream, message) => {
      sizes.push(message.calls.length)
      answerAll(stream, message)
    },
    { gatherMs: () => gatherMs },
  )
  // The call would have to wait for longer than its timeout.
  await billing.release(randomUUID())
  gatherMs = 0
  await billing.release(randomUUID())
  gatherMs = 500
  const second = billing.release(randomUUID())
  await setImmediate()
  await Promise.all([second, billing.release(randomUUID())])
  expect(sizes).toEqual([1, 1, 2])
})

test('calls that gather go out as soon as eight wait', async () => {
  const sizes: number[] = []
  const billing = await connect(
    (stream, message) => {
      sizes.push(message.calls.length)
      answerAll(stream, message)
    },
    { gatherMs: () => 60_000 },
  )
  await billing.release(randomUUID())
  const timers = countTimers()
  // These calls would have to wait for longer than their timeout.
  const calls = Array.from({ length: 7 }, () => billing.release(randomUUID()))
  await setImmediate()
  await Promise.all([...calls, billing.release(randomUUID()), billing.release(randomUUID())])
  expect(sizes).toEqual([1, 9])
  expect(countTimers()).toBeLessThanOrEqual(timers)
})

test('a call that still waits to be sent when a stream breaks has been sent once by the next one', async () => {
  const seen: string[][] = []
  const arrived = Promise.withResolvers<void>()
  const gathering = Promise.withResolvers<void>()
  // Until the second call waits, the client gathers for longer than the first call can take to arrive.
  let gatherMs = 2_000
  const billing = await connect(
    (stream, message, opened) => {
      seen.push(message.calls.map((call) => call.release?.reservationId ?? ''))
      arrived.resolve()
      if (opened === 3) answerAll(stream, message)
      else void gathering.promise.then(() => stream.end())
    },
    { gatherMs: () => gatherMs, timeoutMs: 30_000 },
  )
  const [first, second] = [randomUUID(), randomUUID()]
  const lost = billing.release(first)
  await arrived.promise
  const answered = billing.release(second)
  gatherMs = 0
  gathering.resolve()
  await expect(lost).rejects.toBeInstanceOf(BillingUnavailable)
  expect(await answered).toBe(true)
  expect(seen).toEqual([[first], [first, second], [second]])
})

test('a client that is closed while calls gather leaves no timer behind', async () => {
  const billing = await connect(answerAll, { gatherMs: () => 60_000 })
  await billing.release(randomUUID())
  const timers = countTimers()
  const gathered = billing.release(randomUUID())
  expect(countTimers()).toBe(timers + 2)
  billing.close()
  expect(countTimers()).toBeLessThanOrEqual(timers)
  await expect(gathered).rejects.toBeInstanceOf(BillingUnavailable)
})

test('a call whose stream breaks before the answer is sent once more', async () => {
  const seen: string[][] = []
  const billing = await connect((stream, message, opened) => {
    seen.push(message.calls.map((call) => call.release?.reservationId ?? ''))
    if (opened === 1) stream.end()
    else answerAll(stream, message)
  })
  const id = randomUUID()
  expect(await billing.release(id)).toBe(true)
  expect(seen).toEqual([[id], [id]])
})

test('and not a third time', async () => {
  let messages = 0
  const billing = await connect((stream) => {
    messages += 1
    stream.end()
  })
  await expect(billing.release(randomUUID())).rejects.toBeInstanceOf(BillingUnavailable)
  expect(messages).toBe(2)
})

test('a refusal guarantees that nothing was done, unless the call was sent before', async () => {
  let messages = 0
  const billing = await connect((stream, { calls }) => {
    messages += 1
    const failure = { reason: 'OVERLOADED', message: 'too many calls wait' } as const
    if (messages === 2) stream.end()
    else stream.write({ replies: calls.map(({ seq }) => ({ seq, reply: 'failure', failure })) })
  })
  await expect(billing.release(randomUUID())).rejects.toMatchObject({ nothingDone: true })
  await expect(billing.release(randomUUID())).rejects.toMatchObject({ nothingDone: false })
  expect(messages).toBe(3)
})

test('a call without an answer ends at its deadline', async () => {
  const billing = await connect(() => undefined, { timeoutMs: 50 })
  await expect(billing.release(randomUUID())).rejects.toThrow('no answer within 50 ms')
})

test('an answer of the wrong kind is a failure, not a success', async () => {
  const billing = await connect(answerAll)
  const call = { reservationId: randomUUID(), inputTokens: 1, outputTokens: 1 }
  await expect(billing.resize(call)).rejects.toBeInstanceOf(BillingUnavailable)
})

test('more calls than may wait are refused at once', async () => {
  const billing = await connect(() => undefined, { maxOutstanding: 2 })
  const waiting = Promise.allSettled([billing.release(randomUUID()), billing.release(randomUUID())])
  const refused = { message: expect.stringContaining('2 calls wait already'), nothingDone: true }
  await expect(billing.release(randomUUID())).rejects.toMatchObject(refused)
  billing.close()
  expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('a call without a server fails at once, and so does one of a closed client', async () => {
  client = createBillingClient({ address: '127.0.0.1:1', timeoutMs: 60_000 })
  await expect(client.release(randomUUID())).rejects.toBeInstanceOf(BillingUnavailable)
  await expect(client.lookUpKey(Buffer.alloc(32))).rejects.toBeInstanceOf(BillingUnavailable)
  client.close()
  await expect(client.release(randomUUID())).rejects.toThrow('closed')
})
