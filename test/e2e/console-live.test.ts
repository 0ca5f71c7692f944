import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { millrace, spawnMillrace } from '../integration/ctl/millrace.ts'
import { ADMIN_TOKEN, startCluster, type TestCluster } from '../support/cluster.ts'
import { consoleReader } from '../support/console-reader.ts'
import { freePort } from '../support/free-port.ts'
import { readLive } from '../support/live-stream.ts'
import { startApp, type RunningApp } from '../support/processes.ts'
import { openTerminal } from '../support/pseudo-terminal.ts'
import { until } from '../support/until.ts'

const WAIT = { interval: 20 }

let cluster: TestCluster
/** Of the console at its Redis. */
let redisUrl: string
let port: number
let origin: string
let console_: RunningApp

beforeAll(async () => {
  // A token takes 100 ms, so that a stream lasts long enough to be seen.
  cluster = await startCluster({ workers: [[{ model: 'demo-chat', files: 'demo', stepMs: 100 }]] })
  const redis = new Redis(cluster.redis.url)
  await redis.call('ACL', 'SETUSER', ...consoleReader('secret'))
  redis.disconnect()
  redisUrl = Object.assign(new URL(cluster.redis.url), { username: 'console', password: 'secret' }).href
  port = await freePort()
  origin = `http://127.0.0.1:${port}`
  console_ = await startConsole()
})

afterAll(async () => {
  await console_.stop()
  await cluster.stop()
})

const startConsole = async () =>
  await startApp('console', {
    PORT: String(port),
    BILLING_ADMIN_URL: cluster.adminUrl,
    QUEUE_REDIS_URL: redisUrl,
    BUS_REDIS_URL: redisUrl,
  })

// These tests come first, because no request has been made yet.
describe('millrace top', () => {
  const ENTER_SCREEN = '\u001B[?1049h'
  const LEAVE_SCREEN = '\u001B[?25h\u001B[?1049l'
  const TOP = [process.execPath, 'apps/ctl/main.ts', 'top']
  const environment = () => ({
    MILLRACE_CONSOLE_URL: origin,
    MILLRACE_ADMIN_URL: cluster.adminUrl,
    MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
  })
  const run = async (words: readonly string[], more: Record<string, string> = {}) =>
    await millrace(['top', ...words], { ...environment(), ...more })

  test('without a terminal it is printed once, for people and for programs', async () => {
    const people = await spawnMillrace(['top'], environment())
    expect(people.code).toBe(0)
    expect(people.stdout).toMatch(/^millrace {2}\d\d:\d\d:\d\d {2}asked 0\/s .* workers 1\/1/)
    expect(people.stdout).toMatch(/^demo-chat +serving +0 +0s +0\/64 /m)
    const programs = await run(['--json'])
    expect(JSON.parse(programs.stdout)).toMatchObject({ view: { cluster: { slots: 64 } } })
  })

  test('a token that billing does not know is refused, and a console that is not there said', async () => {
    const refused = await run([], { MILLRACE_ADMIN_TOKEN: 'wrong-token-0123456789' })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('does not know this token')
    const away = await run([], { MILLRACE_CONSOLE_URL: `http://127.0.0.1:${await freePort()}` })
    expect(away).toMatchObject({ code: 3, stdout: '' })
    expect(away.stderr).toContain('does not answer')
  })

  test('in a terminal it follows the cluster, opens a model, and gives the terminal back at q', async () => {
    const terminal = openTerminal(TOP, environment())
    await expect.poll(terminal.output, WAIT).toContain('demo-chat')
    expect(terminal.output()).toContain(ENTER_SCREEN)
    terminal.type('/chat\r\r')
    await expect.poll(terminal.output, WAIT).toContain('WORKER')
    terminal.type('qq')
    expect(await terminal.exited).toBe(0)
    expect(terminal.output().trimEnd().endsWith(LEAVE_SCREEN)).toBe(true)
  })

  test('SIGTERM gives the terminal back too', async () => {
    const terminal = openTerminal(TOP, environment())
    await expect.poll(terminal.output, WAIT).toContain('demo-chat')
    terminal.signal('SIGTERM')
    expect(await terminal.exited).toBe(0)
    expect(terminal.output().trimEnd().endsWith(LEAVE_SCREEN)).toBe(true)
  })

  test('while the console is away the picture says so, and goes on when it is back', async () => {
    const terminal = openTerminal(TOP, environment())
    await expect.poll(terminal.output, WAIT).toContain('demo-chat')
    await console_.stop()
    await expect.poll(terminal.output, WAIT).toContain('connection lost')
    const { length } = terminal.output()
    console_ = await startConsole()
    await expect
      .poll(() => terminal.output().slice(length), WAIT)
      .toMatch(/workers 1\/1 {2}no problem(?! {2}connection lost)/)
    terminal.type('q')
    expect(await terminal.exited).toBe(0)
  })
})

async function open(view: string) {
  const reader = await readLive(`${origin}/live/v1/stream?view=${encodeURIComponent(view)}`, ADMIN_TOKEN)
  onTestFinished(() => reader.close())
  return reader
}

/** Starts a streamed chat that runs for some seconds. The test ends it. */
async function startChat(apiKey: string) {
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo-chat',
      stream: true,
      max_tokens: 400,
      messages: [{ role: 'user', content: 'Talk [[tokens=400]]' }],
    }),
    signal: abort.signal,
  })
  expect(response.status).toBe(200)
  // A body that is not read is cancelled once its response is garbage.
  response.text().catch(() => {})
  return { id: response.headers.get('x-request-id') ?? '', leave: () => abort.abort() }
}

describe('the live views', () => {
  beforeAll(async () => {
    // Rates and times are differences between reports, so requests before the first report are in none of them.
    const reader = await readLive(`${origin}/live/v1/stream?view=workers`, ADMIN_TOKEN)
    await until(async () => {
      const { processes } = reader.view() ?? {}
      return Array.isArray(processes) && processes.length === 2
    })
    reader.close()
  })

  test('a claim is in the stream of the model within seconds, with its tenant, its worker and its request', async () => {
    const account = await cluster.createAccount('10')
    const reader = await open('model:demo-chat')
    await expect
      .poll(() => reader.view(), WAIT)
      .toMatchObject({ model: { state: 'serving', running: 0, waiting: 0 } })
    const chat = await startChat(account.apiKey)
    const claimedMs = performance.now()
    await expect.poll(() => reader.view(), WAIT).toMatchObject({ model: { running: 1 } })
    expect(performance.now() - claimedMs).toBeLessThan(10_000)
    await expect
      .poll(() => reader.view(), WAIT)
      .toMatchObject({
        tenants: [{ accountId: account.id, model: 'demo-chat', running: 1, waiting: 0 }],
        workers: [
          {
            model: 'demo-chat',
            state: 'ready',
            running: 1,
            host: expect.any(String),
            engineVersion: expect.any(String),
          },
        ],
        open: [{ id: chat.id, accountId: account.id, stage: 'running', tokens: expect.any(Number) }],
        model: { firstTokenMs: { p50: expect.any(Number) }, workers: { ready: 1, all: 1 } },
      })
    expect(reader.events().filter((event) => event === 'snapshot')).toHaveLength(1)
    chat.leave()
    await expect.poll(() => reader.view(), WAIT).toMatchObject({ open: [], model: { running: 0 } })
  })

  test('a refusal is in the tail of requests as one group, and in the rates of the model', async () => {
    const account = await cluster.createAccount('0.000000001')
    const reader = await open('requests')
    const now = await open('now')
    await expect.poll(() => reader.view(), WAIT).not.toBeNull()
    for (let count = 0; count < 3; count += 1) {
      const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }),
      })
      expect(response.status).toBe(402)
    }
    await expect.poll(() => JSON.stringify(reader.view()), WAIT).toContain('insufficient_credits')
    expect(reader.view()).toMatchObject({
      ended: expect.arrayContaining([
        expect.objectContaining({ accountId: account.id, kind: 'failed', code: 'insufficient_credits' }),
      ]),
    })
    await expect
      .poll(() => now.view(), WAIT)
      .toMatchObject({
        models: expect.arrayContaining([
          expect.objectContaining({
            id: 'demo-chat',
            refusedPerS: expect.objectContaining({ insufficient_credits: expect.any(Number) }),
          }),
        ]),
      })
  })

  test('the workers and all processes are there once too, by name, release and host', async () => {
    const get = async (path: string) => {
      const response = await fetch(origin + path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
      expect(response.status).toBe(200)
      return await response.json()
    }
    const version = expect.stringMatching(/^\d+\.\d+\.\d+/)
    expect(await get('/live/v1/workers')).toMatchObject({
      asOf: expect.any(String),
      view: {
        sources: { busAwayMs: 0, queueAwayMs: 0 },
        workers: [{ model: 'demo-chat', state: 'ready', version, slots: expect.any(Number) }],
        processes: expect.arrayContaining([
          expect.objectContaining({ kind: 'gateway', version, openStreams: expect.any(Number) }),
          expect.objectContaining({ kind: 'worker', version }),
        ]),
      },
    })
    expect(await get('/live/v1/cluster')).toMatchObject({
      view: { problems: [], cluster: { workers: { ready: 1, all: 1 }, gateways: 1 } },
    })
    expect(await get('/live/v1/models/nothing')).toMatchObject({ view: { model: null, tenants: [] } })
  })

  test('the documented Redis user is the one of this test', () => {
    expect(readFileSync('docs/operators.md', 'utf8')).toContain(
      `ACL SETUSER ${consoleReader('PASSWORD').join(' ')}\n`,
    )
  })

  test('without a token of an operator nothing is read, and a view that does not exist is refused', async () => {
    const ask = async (path: string, token: string | null) => {
      const headers = token === null ? {} : { authorization: `Bearer ${token}` }
      const response = await fetch(origin + path, { headers })
      await response.body?.cancel()
      return response.status
    }
    // A request without a token counts as a browser's request, which must name its origin.
    expect(await ask('/live/v1/cluster', null)).toBe(403)
    expect(await ask('/live/v1/stream?view=now', 'another-token-0123456789')).toBe(401)
    expect(await ask('/live/v1/stream?view=secrets', ADMIN_TOKEN)).toBe(400)
    expect(await ask('/live/v1/stream', ADMIN_TOKEN)).toBe(400)
  })

  test('a killed worker is silent in the picture, and a problem with its runbook', async () => {
    const reader = await open('now')
    const [worker] = cluster.workers
    await expect.poll(() => reader.view(), WAIT).toMatchObject({ problems: [] })
    await worker?.kill()
    await expect
      .poll(() => reader.view(), WAIT)
      .toMatchObject({
        problems: expect.arrayContaining([
          expect.objectContaining({ name: 'WorkerSilent', runbook: 'docs/operators.md#what-to-watch' }),
        ]),
      })
    expect(await cluster.metric(console_, 'millrace_queue_short_slots', { model: 'demo-chat' })).toBe(0)
  })
})
