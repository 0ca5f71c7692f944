import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../support/books.ts'
import { test as clientTest, type ClientAccess } from '../../support/client-test.ts'
import { scratchFolder } from '../../support/run-folder.ts'

const test = clientTest.extend('claude', ({ access }) => installClaudeCode(access))

/** The program without the scripts of its installation, which `npm ci` does not run here. */
const COMMAND = resolve('node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs')

test('edits a file by two rounds of its own tools, with nearly the whole first prompt cached in the second turn', async ({
  claude,
  cluster,
  account,
}) => {
  // The demo model calls the tool `Write`, because the messages have this word, with the last name as its arguments.
  const first = await claude.run('demo-chat', 'Write it to Notes, please').ended
  expect(first.output).toMatchObject({ is_error: false, num_turns: 2 })
  expect(first.output?.result).toMatch(/^The tool says: File created successfully at: Notes/)
  expect(claude.read('Notes')).toBe('Notes')

  const second = await claude.run('demo-chat', 'Now write it again to Notes, please', ['--continue']).ended
  expect(second.output?.result).toMatch(/^The tool says: The file Notes has been updated successfully/)
  const [prompt, again] = [first, second].map(({ output }) => output?.usage)
  if (prompt === undefined || again === undefined) throw new Error('a turn without usage')
  // Each turn has two requests, and its usage is their sum. The prompts of the second turn begin with those of the first.
  const firstPrompts = prompt.input_tokens + prompt.cache_read_input_tokens
  expect(again.cache_read_input_tokens).toBeGreaterThan(0.95 * firstPrompts)
  await expectBalancedBooks(cluster, [account])
})

test('a stream that breaks fails the turn with our message', async ({ claude }) => {
  const { code, output } = await claude.run('test/midstream-error', 'Hello').ended
  expect(code).toBe(1)
  expect(output).toMatchObject({
    is_error: true,
    result: expect.stringContaining('The inference backend failed'),
  })
})

const Output = z.object({
  is_error: z.boolean(),
  num_turns: z.int(),
  result: z.string(),
  usage: z.object({ input_tokens: z.int(), cache_read_input_tokens: z.int() }),
})

/** Installs a Claude Code with a home folder of its own. It knows our gateway and cannot reach any other host. */
function installClaudeCode({ baseUrl, apiKey }: ClientAccess) {
  const home = scratchFolder('claude-code')
  const project = join(home, 'project')
  mkdirSync(project)

  function run(model: string, task: string, more: readonly string[] = []) {
    const nowhere = 'http://127.0.0.1:9'
    const options = ['--tools', 'Write,Read', '--permission-mode', 'acceptEdits', '--output-format', 'json']
    const child = spawn(process.execPath, [COMMAND, '-p', task, ...options, ...more], {
      cwd: project,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''),
        ANTHROPIC_API_KEY: apiKey,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_MAX_RETRIES: '1',
        HTTPS_PROXY: nowhere,
        HTTP_PROXY: nowhere,
        NO_PROXY: '127.0.0.1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 100_000,
    })
    let printed = ''
    child.stdout.on('data', (piece: Buffer) => (printed += piece.toString()))
    child.stderr.resume()
    const ended = once(child, 'close').then(() => ({
      code: child.exitCode,
      output: readOutput(printed),
    }))
    return { child, ended }
  }

  return { run, read: (name: string) => readFileSync(join(project, name), 'utf8') }
}

/** Returns the object that it prints, on a line of its own; null if there is none. */
function readOutput(printed: string): z.infer<typeof Output> | null {
  const line = printed.split('\n').find((one) => one.startsWith('{'))
  return line === undefined ? null : Output.parse(JSON.parse(line))
}
