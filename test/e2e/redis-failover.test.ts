import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk, type ChatAnswer } from '../support/chat.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { createCluster } from '../support/redis-cluster.ts'
import { createSentinelGroup } from '../support/redis-sentinel.ts'
import { createRedis } from '../support/redis.ts'
import { startChatOk } from '../support/start-chat.ts'

/** The model's keys are on the first master of a test's Cluster, which the test kills. */
const MODEL = 'millrace/demo-chat'
/** The cache's blocks are larger than any prompt: no prefix is cached, so equal answers have equal usage. */
const ENGINE = {
  model: MODEL,
  files: 'demo',
  maxNumSeqs: 8,
  stepMs: 20,
  kvBlocks: 64,
  blockSize: 4_096,
}
const STREAMS = 4
const CALLERS = 2
/** Takes about 5 s, longer than the failover. */
const LONG = 'Talk [[tokens=250]]'
/** The time of detection, election, and the apps' reconnection to the new master. */
const MOST_REFUSED_MS = 15_000

let cluster: TestCluster | undefined
const stops: (() => Promise<void>)[] = []

afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
  for (const stop of stops.splice(0)) await stop()
})

const PLACES = {
  'a Sentinel group': async () => {
    const group = await createSentinelGroup()
    return { ...group, environment: group.environment('QUEUE_REDIS') }
  },
  // The first master of the Cluster has the model's keys.
  'a Cluster': createCluster,
}

test.each(Object.entries(PLACES))(
  'the queue is %s whose master dies and takes with it what it had acknowledged: nothing is lost or charged twice',
  async (_, create) => {
    const queue = await create()
    stops.push(queue.stop)
    const buses = [await createRedis(), await createRedis()]
    for (const bus of buses) stops.push(async () => await bus.stop())
    const { environment } = queue
    const connected = { ...environment, BUS_REDIS_URL: buses.map(({ url }) => url).join(',') }
    const running = await startCluster({
      workers: [[ENGINE], [ENGINE]],
      gateways: 2,
      gatewayEnv: connected,
      workerEnv: connected,
      billingEnv: environment,
    })
    cluster = running
    const account = await running.createAccount('100')
    const call = { baseUrl: running.baseUrl, apiKey: account.apiKey, model: MODEL }

    async function posted() {
      await expectBalancedBooks(running, [account])
      return (await running.balance(account)).posted
    }

    const start = await posted()
    const short = await chatOk({ ...call, content: 'Hi' })
    const afterShort = await posted()
    const long = await chatOk({ ...call, content: LONG })
    const afterLong = await posted()

    const baseUrls = running.gateways.map(({ baseUrl }) => baseUrl)
    const streams = Array.from({ length: STREAMS }, (_each, at) => {
      const baseUrl = baseUrls[at % baseUrls.length] ?? running.baseUrl
      return startChatOk({ ...call, baseUrl, content: LONG })
    })
    await Promise.all(streams.map(async ({ firstText }) => await firstText))
    const over = new AbortController()
    const asked: { endMs: number; answer: ChatAnswer }[] = []
    const served = () => asked.filter(({ answer }) => answer.status === 200)
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!over.signal.aborted) {
        const answer = await chat({ ...call, content: 'Hi' })
        asked.push({ endMs: performance.now(), answer })
        await pause(200)
      }
    })
    const servedMore = async () => {
      const before = served().length
      await expect
        .poll(() => served().length, { timeout: 2 * MOST_REFUSED_MS })
        .toBeGreaterThan(before + CALLERS)
    }
    await servedMore()
    await queue.detachReplica()
    await servedMore()
    const killedMs = performance.now()
    await queue.killMaster()
    const answers = await Promise.all(streams.map(async ({ answer }) => await answer))
    await servedMore()
    over.abort()
    await Promise.all(callers)

    expect(answers).toEqual(streams.map(() => long))
    expect(served().map(({ answer }) => answer)).toEqual(served().map(() => ({ status: 200, ...short })))
    const refused = asked.filter(({ answer }) => answer.status !== 200)
    expect(refused).toEqual(
      refused.map(() => ({
        endMs: expect.any(Number),
        answer: expect.objectContaining({
          status: 503,
          error: expect.objectContaining({ code: 'model_unavailable' }),
        }),
      })),
    )
    const refusedMs = refused.map(({ endMs }) => endMs - killedMs)
    expect(refusedMs.filter((ms) => ms < 0 || ms > MOST_REFUSED_MS)).toEqual([])
    expect(afterLong - (await posted())).toBe(
      (afterShort - afterLong) * BigInt(STREAMS) + (start - afterShort) * BigInt(served().length),
    )
  },
)
