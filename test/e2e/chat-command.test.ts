import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChatSession } from '#apps/ctl/chat/chat-session.ts'
import { createGatewayClient } from '#apps/ctl/chat/gateway-client.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'

const SLOW = { model: 'millrace/demo-chat', files: 'demo', stepMs: 20, sequenceMs: 0 }
const THINKING = { model: 'demo-reasoning', files: 'demo-reasoning', stepMs: 1, sequenceMs: 0 }

let cluster: TestCluster
let account: TestAccount

beforeAll(async () => {
  cluster = await startCluster({
    workers: [[{ model: 'demo-chat', files: 'demo', stepMs: 1, sequenceMs: 0 }, SLOW, THINKING]],
  })
  account = await cluster.createAccount('10')
})
afterAll(async () => await cluster.stop())

async function millrace(words: readonly string[], stdin: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [join(REPOSITORY, 'scripts/millrace.mjs'), ...words], {
    env: { PATH: process.env['PATH'], MILLRACE_HOME: '/nonexistent', ...env },
  })
  child.stdin.end(stdin)
  const [stdout, stderr] = await Promise.all([readAll(child.stdout), readAll(child.stderr)])
  return { stdout, stderr }
}

function openSession(model: string, onWrite: (written: string) => void = () => undefined) {
  const state = { written: '' }
  const session = createChatSession({
    client: createGatewayClient({ baseUrl: cluster.baseUrl, apiKey: account.apiKey }),
    model,
    isPlain: false,
    isStyled: true,
    async write(text) {
      state.written += text
      onWrite(state.written)
    },
  })
  const turn = async (line: string, signal = new AbortController().signal) => {
    state.written = ''
    await session.turn(line, signal)
    return state.written.replaceAll('\u001B[2m', '<dim>').replaceAll('\u001B[22m', '</dim>')
  }
  return turn
}

test('a piped prompt prints the answer alone, and a refusal its message', async () => {
  const env = { OPENAI_BASE_URL: cluster.baseUrl, OPENAI_API_KEY: account.apiKey }
  const { stdout, stderr } = await millrace(['chat', 'demo-chat'], 'Hello there\n', env)
  expect([stdout, stderr]).toEqual(['You said: Hello there\n', ''])
  const refused = await millrace(['chat', 'nope'], 'Hello\n', env)
  expect(refused.stdout).toBe('')
  expect(refused.stderr).toContain('nope')
  expect((await millrace(['chat'], 'Hello\n', {})).stderr).toContain('No API key')
})

test('a turn keeps the conversation and ends with its receipt', async () => {
  const turn = openSession('demo-chat')
  expect(await turn('Hello')).toMatch(
    /^You said: Hello\n<dim>waited \d+\.\d s · first token \d+\.\d s · (\d+ tok\/s · )?\d+ \+ \d+ tokens · 0\.\d+ credits · [0-9a-f-]{36}\n/u,
  )
  expect(await turn('/receipt')).toContain('credits')
  expect(await turn('And now?')).toContain('user: Hello')
  await turn('/reset')
  expect(await turn('Again')).not.toContain('user: Hello')
  await turn('/system Be brief.')
  expect(await turn('Hello')).toContain('system: Be brief.')
  expect(await turn('/model nope')).toContain('demo-reasoning')
  expect(await turn('/model demo-reasoning')).toContain('now with demo-reasoning')
  await turn('/effort high')
  expect(await turn('Think')).toMatch(/^<dim>[^]+<\/dim>\n\nYou said: Think/u)
  expect(await turn('/help')).toContain('/effort')
})

test('a stopped answer says what was charged for what arrived', async () => {
  const stop = new AbortController()
  const turn = openSession(SLOW.model, (written) => {
    if (written.length > 20) stop.abort()
  })
  expect(await turn('Talk [[tokens=400]]', stop.signal)).toMatch(/stopped[^]*\+ \d+ tokens · 0\.\d+ credits/u)
})
