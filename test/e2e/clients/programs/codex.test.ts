import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../../support/books.ts'
import { test as clientTest, type ClientAccess } from '../../../support/client-test.ts'
import { occupy } from '../../../support/occupy.ts'
import { inPrograms, readJsonLines, startProgram } from '../../../support/programs.ts'
import { scratchFolder } from '../../../support/run-folder.ts'
import { FILE_MODELS } from '../../../support/shared-models.ts'

const NARROW_MODEL = FILE_MODELS.codex.engine.model

const test = clientTest
  .extend('codex', ({ access }) => installCodex(access))
  .extend('hastyCodex', ({ hasty }) => installCodex(hasty))

test('calls its tool, answers, and goes on from its history', async ({ codex }) => {
  // The message names `update_goal`, so the demo model calls that tool, and Codex has no goal to update.
  const refusal = 'The tool says: cannot update goal because this thread has no goal'
  const first = await codex.exec('demo-chat', 'Update it, please').ended
  expect(first).toMatchObject({ code: 0, messages: [refusal] })
  const second = await codex.resumeBriefly('demo-chat', 'Thanks!').ended
  expect(second).toMatchObject({ code: 0, messages: [expect.stringContaining('You said: Thanks!')] })
  expect(second.messages[0]).toContain('user: Update it, please')
  expect(second.messages[0]).toContain(`assistant: ${refusal}`)
})

test('uses a tool of an MCP server', async ({ codex }) => {
  const { code, messages } = await codex.exec('demo-chat', 'Please lookup the tide').ended
  expect({ code, messages }).toEqual({ code: 0, messages: [expect.stringContaining('HIGH-TIDE-1432')] })
})

test('asks a busy model again until there is room', async ({ hastyCodex, hasty: { cluster } }) => {
  const refusals = () =>
    cluster.metric(cluster.hastyGateway, 'millrace_gateway_admissions_total', {
      model: NARROW_MODEL,
      outcome: 'busy',
    })
  await using occupied = await occupy(cluster, NARROW_MODEL)
  const before = await refusals()
  const { ended } = hastyCodex.execBriefly(NARROW_MODEL, 'Hello')
  await expect.poll(refusals).toBeGreaterThan(before)
  await occupied.release()
  expect(await ended).toMatchObject({ code: 0, messages: [expect.stringContaining('You said: Hello')] })
})

test('a stream that breaks fails the turn with our message', async ({ codex }) => {
  const { code, messages, output } = await codex.exec('test/midstream-error', 'Hello').ended
  expect(code).toBe(1)
  expect(output).toContain('The inference backend failed')
  expect(messages).toEqual([])
})

test('an interrupted turn frees the engine', async ({ codex, cluster, account }) => {
  const running = () =>
    cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: NARROW_MODEL })
  const { child, ended } = codex.exec(NARROW_MODEL, 'Talk [[tokens=4000]]')
  await expect.poll(running).toBe(1)
  child.kill('SIGINT')
  await ended
  await expect.poll(running, { timeout: 20_000 }).toBe(0)
  await expectBalancedBooks(cluster, [account])
})

/** Installs a Codex with a home folder of its own. It knows our gateway and cannot reach any other host. */
function installCodex({ baseUrl, apiKey }: ClientAccess) {
  const home = scratchFolder('codex')
  const project = join(home, 'project')
  mkdirSync(project)
  writeFileSync(
    join(home, 'config.toml'),
    `
model_provider = "millrace"
[model_providers.millrace]
name = "Millrace"
base_url = "${baseUrl}"
env_key = "MILLRACE_API_KEY"
wire_api = "responses"
# What it waits for after a broken stream doubles each time.
stream_max_retries = 1
[features]
plugins = false
[mcp_servers.harbour]
command = "${process.execPath}"
args = ["${resolve('test/programs/harbour.mjs')}"]
default_tools_approval_mode = "approve"
`,
  )

  function run(arguments_: readonly string[]) {
    const { child, ended } = startProgram(inPrograms('.bin/codex'), ['exec', ...arguments_], {
      cwd: project,
      env: { HOME: home, CODEX_HOME: home, MILLRACE_API_KEY: apiKey, TZ: zoneAtNoon() },
    })
    const read = async () => ({ ...(await ended), messages: messagesOf((await ended).output) })
    return { child, ended: read() }
  }

  const brief = join(home, 'brief.md')
  writeFileSync(brief, 'Be brief.')
  const options = ['--json', '--skip-git-repo-check', '-c', `sandbox_mode="read-only"`]
  const short = ['-c', `model_instructions_file="${brief}"`]
  return {
    exec: (model: string, task: string) => run([...options, '--model', model, task]),
    /** Without the 10,000 tokens of Codex's own instructions, which the demo model would repeat. */
    execBriefly: (model: string, task: string) => run([...options, ...short, '--model', model, task]),
    resumeBriefly: (model: string, task: string) =>
      run(['resume', '--last', ...options, ...short, '--model', model, task]),
  }
}

/** Returns the agent's messages from the events that it prints. */
function messagesOf(output: string): string[] {
  return readJsonLines(output).flatMap((line) => {
    const { success, data } = AgentMessage.safeParse(line)
    return success ? [data.item.text] : []
  })
}

const AgentMessage = z.object({ item: z.object({ type: z.literal('agent_message'), text: z.string() }) })

/**
 * Returns a time zone in which it is noon. Codex repeats the date in a user message when it has changed between turns.
 */
function zoneAtNoon(): string {
  const aheadOfUtc = 12 - new Date().getUTCHours()
  // The names have POSIX signs: positive is west of Greenwich.
  return `Etc/GMT${aheadOfUtc > 0 ? '-' : '+'}${Math.abs(aheadOfUtc)}`
}
