import { afterAll, beforeAll, expect, test } from 'vitest'
import { millrace, spawnMillrace } from '../integration/ctl/millrace.ts'
import { ADMIN_TOKEN, startCluster, type TestCluster } from '../support/cluster.ts'
import { freePort } from '../support/free-port.ts'
import { startApp, type RunningApp } from '../support/processes.ts'
import { openTerminal } from '../support/pseudo-terminal.ts'

const WAIT = { timeout: 20_000, interval: 50 }
const ENTER_SCREEN = '\u001B[?1049h'
const LEAVE_SCREEN = '\u001B[?25h\u001B[?1049l'

let cluster: TestCluster
let console_: RunningApp
let env: Record<string, string>
let port: number

beforeAll(async () => {
  cluster = await startCluster({ workers: [[{ model: 'demo-chat', files: 'demo' }]] })
  port = await freePort()
  env = {
    MILLRACE_CONSOLE_URL: `http://127.0.0.1:${port}`,
    MILLRACE_ADMIN_URL: cluster.adminUrl,
    MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
  }
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
    QUEUE_REDIS_URL: cluster.redis.url,
    BUS_REDIS_URL: cluster.redis.url,
  })

const TOP = [process.execPath, 'apps/ctl/main.ts', 'top']
const run = async (words: readonly string[], more: Record<string, string> = {}) =>
  await millrace(['top', ...words], { ...env, ...more })

test('without a terminal it is printed once, for people and for programs', async () => {
  const people = await spawnMillrace(['top'], env)
  expect(people.code).toBe(0)
  expect(people.stdout).toMatch(/^millrace {2}\d\d:\d\d:\d\d {2}asked 0\/s .* workers 1\/1/)
  expect(people.stdout).toMatch(/^demo-chat +ok +0 +0s +0\/64 /m)
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
  const terminal = openTerminal(TOP, env)
  await expect.poll(terminal.output, WAIT).toContain('demo-chat')
  expect(terminal.output()).toContain(ENTER_SCREEN)
  terminal.type('/chat\r\r')
  await expect.poll(terminal.output, WAIT).toContain('WORKER')
  terminal.type('qq')
  expect(await terminal.exited).toBe(0)
  expect(terminal.output().trimEnd().endsWith(LEAVE_SCREEN)).toBe(true)
})

test('SIGTERM gives the terminal back too', async () => {
  const terminal = openTerminal(TOP, env)
  await expect.poll(terminal.output, WAIT).toContain('demo-chat')
  terminal.signal('SIGTERM')
  expect(await terminal.exited).toBe(0)
  expect(terminal.output().trimEnd().endsWith(LEAVE_SCREEN)).toBe(true)
})

test('while the console is away the picture says so, and goes on when it is back', async () => {
  const terminal = openTerminal(TOP, env)
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
