import { readFileSync } from 'node:fs'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type {
  AppControllerRoute,
  BullBoardQueues,
  IServerAdapter,
  UIConfig,
} from '@bull-board/api/typings/app'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { finishKey, JOB_QUEUE, jobQueuePrefix } from '#libs/queue-redis/keys.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chat } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { queueReader } from '../support/queue-reader.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'

const { model, maxNumSeqs } = FILE_MODELS['queue-tools'].engine
const PREFIX = `${model}: `

let cluster: SharedCluster
let account: TestAccount
let redis: Redis
let queue: Queue
let countWaiting: () => Promise<number>
/** A board whose operator may change things. */
let board: Board
/** A connection of the Redis user that may only read. */
let readerRedis: Redis
let reader: Board

beforeAll(async () => {
  cluster = await sharedCluster()
  account = await cluster.createAccount('100')
  redis = new Redis(cluster.redisUrl, { maxRetriesPerRequest: null })
  queue = openQueue(redis)
  board = openBoard(queue)
  const count = createCountWaiting(redis)
  countWaiting = async () => (await count(model)).count
  await redis.call('ACL', 'SETUSER', ...queueReader('secret'))
  const { hostname, port } = new URL(cluster.redisUrl)
  readerRedis = new Redis(`redis://board:secret@${hostname}:${port}`, { maxRetriesPerRequest: null })
  reader = openBoard(openQueue(readerRedis))
})

afterAll(async () => {
  await queue.resume()
  await Promise.all([board, reader].map(async (each) => await each.queue.close()))
  readerRedis.disconnect()
  await redis.acl('DELUSER', 'board')
  redis.disconnect()
})

/** Opens the queue as docs/operators.md describes. */
const openQueue = (connection: Redis) =>
  new Queue(JOB_QUEUE, { connection, prefix: jobQueuePrefix(model), skipMetasUpdate: true })

type Board = ReturnType<typeof openBoard>

/** The interface of a bull-board, called as its web servers call it. */
function openBoard(opened: Queue) {
  let routes: AppControllerRoute[] = []
  let queues: BullBoardQueues = new Map()
  const uiConfig: UIConfig = {}
  const adapter: IServerAdapter = {
    setQueues: (known) => ((queues = known), adapter),
    setApiRoutes: (known) => ((routes = known), adapter),
    setViewsPath: () => adapter,
    setStaticPath: () => adapter,
    setEntryRoute: () => adapter,
    setErrorHandler: () => adapter,
    setUIConfig: () => adapter,
  }
  createBullBoard({ queues: [new BullMQAdapter(opened, { prefix: PREFIX })], serverAdapter: adapter })
  return {
    queue: opened,
    async call(path: string, { params = {}, query = {}, body = {} }: Record<string, object> = {}) {
      const route = routes.find((each) => [each.route].flat().includes(path))
      if (route === undefined) throw new Error(`bull-board has no ${path}`)
      const all = { queueName: `${PREFIX}${JOB_QUEUE}`, ...params }
      return await route.handler({ queues, uiConfig, query, params: all, body, headers: {} })
    },
  }
}

/** The complete data of a job: neither a prompt nor a key. */
const JobData = z.strictObject({
  generation: z.uuidv7(),
  epoch: z.int(),
  account: z.string(),
  estimatedTokens: z.int().positive(),
  waitsSince: z.iso.datetime(),
})

const Listing = z.object({
  queues: z.array(
    z.object({
      counts: z.object({ waiting: z.int(), active: z.int(), failed: z.int() }),
      isPaused: z.boolean(),
      jobs: z.array(z.object({ id: z.string(), name: z.string(), data: JobData })),
    }),
  ),
})

/** Returns the counts and jobs that a board shows. */
async function look(at: Board) {
  const query = { activeQueue: `${PREFIX}${JOB_QUEUE}`, status: 'waiting', page: '1', jobsPerPage: '50' }
  const { body } = await at.call('/api/queues', { query })
  const [shown] = Listing.parse(body).queues
  if (shown === undefined) throw new Error('the board shows no queue')
  return shown
}

const call = (content: string) => ({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content })
const ask = (content: string) => startChatOk(call(content))

/**
 * Starts as many generations as can run at once, and `count` more, which wait. `end` hangs up the running ones and
 * expects answers to the others.
 */
async function fill(count: number) {
  const running = Array.from({ length: maxNumSeqs }, () => ask('Talk [[tokens=3000]]'))
  await Promise.all(running.map(async ({ firstText }) => await firstText))
  const waiting = Array.from({ length: count }, (_, turn) => ask(`Turn ${turn}`))
  await expect.poll(countWaiting).toBe(count)
  // Each second a worker claims without a job. Then one job too many is left until the gateway compares the numbers
  // again.
  await expect.poll(async () => await queue.count()).toBe(count)
  const end = async () => {
    for (const { hangUp } of running) hangUp()
    await Promise.allSettled(running.map(async ({ answer }) => await answer))
    await expectAllAnswered(waiting)
    await expectEmpty()
  }
  return { running, waiting, end }
}

async function expectAllAnswered(chats: readonly ReturnType<typeof ask>[]) {
  const answers = await Promise.all(chats.map(async ({ answer }) => await answer))
  expect(answers.map(({ finishReason }) => finishReason)).toEqual(chats.map(() => 'stop'))
}

/** Waits, after the load has ended, until no generation waits and no job is left. */
async function expectEmpty() {
  await expect.poll(countWaiting).toBe(0)
  await expect
    .poll(async () => await queue.getJobCounts('waiting', 'active', 'failed', 'completed', 'delayed'))
    .toEqual({ waiting: 0, active: 0, failed: 0, completed: 0, delayed: 0 })
}

test('20 generations wait: bull-board shows their number and what they are, also to a user that only reads', async () => {
  const { waiting, end } = await fill(20)
  for (const each of [board, reader]) {
    const shown = await look(each)
    expect(shown).toMatchObject({ counts: { waiting: 20, active: 0, failed: 0 }, isPaused: false })
    expect(shown.jobs).toHaveLength(20)
    for (const { id, name, data } of shown.jobs) {
      expect(name).toBe('chat')
      expect(id).toBe(`${data.generation}.1`)
      expect(data).toMatchObject({ epoch: 1, account: account.id })
    }
  }
  // The scaler's `millrace_queue_waiting` is this count of the record.
  expect(await queue.exportPrometheusMetrics()).toContain(`state="waiting"} ${await countWaiting()}\n`)

  for (const { hangUp } of waiting.slice(0, 5)) hangUp()
  await Promise.allSettled(waiting.slice(0, 5).map(async ({ answer }) => await answer))
  await expect.poll(countWaiting).toBe(15)
  await expect.poll(async () => (await look(board)).counts.waiting).toBe(15)
  waiting.splice(0, 5)
  await end()
  await expectBalancedBooks(cluster, [account])
})

test('jobs that an operator removes, drains, doubles, retries, promotes, delays or obliterates change no answer', async () => {
  const { end } = await fill(4)
  const [first, second] = (await look(board)).jobs
  const one = { params: { jobId: first?.id } }
  const other = { params: { jobId: second?.id } }
  // The board refuses to retry a job that is neither failed nor delayed.
  expect(await board.call('/api/queues/:queueName/:jobId/retry', one)).toMatchObject({ status: 400 })
  await expect(board.call('/api/queues/:queueName/:jobId/promote', one)).rejects.toThrow('delayed state')
  const delay = { ...one, body: { runAt: 0 } }
  expect(await board.call('/api/queues/:queueName/:jobId/delay', delay)).toMatchObject({ status: 400 })
  expect((await look(board)).counts.waiting).toBe(4)
  await board.call('/api/queues/:queueName/:jobId/clean', one)
  await board.call('/api/queues/:queueName/add', { body: { name: 'chat', data: second?.data, options: {} } })
  await board.call('/api/queues/:queueName/:jobId/priority', { ...other, body: { priority: 3 } })
  await board.call('/api/queues/:queueName/concurrency', { body: { concurrency: 1 } })
  await end()
  await queue.removeGlobalConcurrency()

  const drained = await fill(4)
  await board.call('/api/queues/:queueName/empty')
  expect(await queue.count()).toBe(0)
  await drained.end()

  const obliterated = await fill(2)
  await queue.obliterate({ force: true })
  expect(await queue.count()).toBe(0)
  await obliterated.end()
  await expectBalancedBooks(cluster, [account])
})

test('the user that docs/operators.md gives to such tools can change nothing, and read nothing else', async () => {
  expect(readFileSync('docs/operators.md', 'utf8')).toContain(
    `ACL SETUSER ${queueReader('PASSWORD').join(' ')}\n`,
  )
  const { end } = await fill(2)
  const [first] = (await look(reader)).jobs
  await expect(readerRedis.hset(queue.toKey('meta'), 'paused', '1')).rejects.toThrow('NOPERM')
  await expect(readerRedis.zcard(finishKey(model))).rejects.toThrow('NOPERM')
  for (const change of [
    async () => await reader.queue.pause(),
    async () => await reader.queue.remove(first?.id ?? ''),
    async () => await reader.queue.add('chat', {}),
    async () => await reader.queue.drain(),
  ])
    await expect(change()).rejects.toThrow(/NOPERM|can't run this command/u)
  expect((await look(board)).counts.waiting).toBe(2)
  await end()
})

test('pausing the queue pauses the model: what runs goes on, what comes is answered as without a worker', async () => {
  const { running, end } = await fill(2)
  await board.call('/api/queues/:queueName/pause')
  expect((await look(board)).isPaused).toBe(true)
  // Until the gateway knows of the pause, it still queues new requests, and they wait.
  const impatient = () => ({ ...call('Hi'), signal: AbortSignal.timeout(2_000) })
  await expect
    .poll(async () => await chat(impatient()).catch(() => null))
    .toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  const read = running.map(({ textPieces }) => textPieces())
  await expect.poll(() => running.every(({ textPieces }, at) => textPieces() > (read[at] ?? 0))).toBe(true)
  for (const { hangUp } of running) hangUp()
  await Promise.allSettled(running.map(async ({ answer }) => await answer))
  await expect
    .poll(async () => await cluster.metric(cluster.simulator, 'millrace_simulator_running', { model }))
    .toBe(0)
  expect(await countWaiting()).toBe(2)
  await board.call('/api/queues/:queueName/resume')
  await end()
  await expect.poll(async () => (await chat(call('Hi'))).status).toBe(200)
  await expectEmpty()
  await expectBalancedBooks(cluster, [account])
})
