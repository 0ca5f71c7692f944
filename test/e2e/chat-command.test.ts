import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { expect } from 'vitest'
import { createChatSession } from '#apps/ctl/chat/chat-session.ts'
import { createGatewayClient, type GatewayClient } from '#apps/ctl/chat/gateway-client.ts'
import { COMPILE_CACHE } from '#scripts/servers/compile-cache.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { test as clusterTest } from '../support/cluster-test.ts'

const SLOW = 'millrace/demo-chat'

const test = clusterTest.extend('client', ({ endpoint }) => createGatewayClient(endpoint))

async function millrace(words: readonly string[], stdin: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [join(REPOSITORY, 'scripts/millrace.mjs'), ...words], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      MILLRACE_HOME: '/nonexistent',
      ...env,
    },
  })
  child.stdin.end(stdin)
  const [stdout, stderr] = await Promise.all([readAll(child.stdout), readAll(child.stderr)])
  return { stdout, stderr }
}

function openSession(
  client: GatewayClient,
  model: string,
  onWrite: (written: string) => void = () => undefined,
) {
  const state = { written: '' }
  const session = createChatSession({
    client,
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

/** The line at the end of a turn whose request is charged and measured. */
const RECEIPT =
  /^You said: Hello\n<dim>waited \d+\.\d s · first token \d+\.\d s · (\d+ tok\/s · )?\d+ \+ \d+ tokens · 0\.\d+ credits · [0-9a-f-]{36}\n/u

test('a piped prompt prints the answer alone, and a refusal its message', async ({ endpoint }) => {
  const env = { OPENAI_BASE_URL: endpoint.baseUrl, OPENAI_API_KEY: endpoint.apiKey }
  const { stdout, stderr } = await millrace(['chat', 'demo-chat'], 'Hello there\n', env)
  expect([stdout, stderr]).toEqual(['You said: Hello there\n', ''])
  const refused = await millrace(['chat', 'nope'], 'Hello\n', env)
  expect(refused.stdout).toBe('')
  expect(refused.stderr).toContain('nope')
  expect((await millrace(['chat'], 'Hello\n', {})).stderr).toContain('No API key')
})

test('the times of a request, which billing writes after its charge, are waited for', async ({ client }) => {
  let isEarly = true
  const early: GatewayClient = {
    ...client,
    async receipt(id) {
      const receipt = await client.receipt(id)
      if (receipt === null || receipt.status === 'running' || !isEarly) return receipt
      isEarly = false
      return { ...receipt, waited_ms: null, latency: null, generation_time: null }
    },
  }
  expect(await openSession(early, 'demo-chat')('Hello')).toMatch(RECEIPT)
  expect(isEarly).toBe(false)
})

test('a turn keeps the conversation and ends with its receipt', async ({ client }) => {
  const turn = openSession(client, 'demo-chat')
  expect(await turn('Hello')).toMatch(RECEIPT)
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

test('a stopped answer says what was charged for what arrived', async ({ client }) => {
  const stop = new AbortController()
  const turn = openSession(client, SLOW, (written) => {
    if (written.length > 20) stop.abort()
  })
  expect(await turn('Talk [[tokens=400]]', stop.signal)).toMatch(/stopped[^]*\+ \d+ tokens · 0\.\d+ credits/u)
})
