import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../../support/books.ts'
import { test as clientTest, type ClientAccess } from '../../../support/client-test.ts'
import { claudeCode, readJsonLines, startProgram } from '../../../support/programs.ts'
import { scratchFolder } from '../../../support/run-folder.ts'

const test = clientTest.extend('claude', ({ access }) => installClaudeCode(access))

const FILE_TOOLS = ['--tools', 'Write,Read', '--permission-mode', 'acceptEdits']
const NO_TOOLS = ['--tools', '']
/** With these tools, the program hides the tools of MCP servers until the model has searched for them. */
const SEARCHED = 'Read,ToolSearch'

test('edits a file by two rounds of its own tools, with nearly the whole first prompt cached in the second turn', async ({
  claude,
  cluster,
  account,
}) => {
  // The demo model calls the tool `Write`, because the messages have this word, with the last name as its arguments.
  const first = await claude.run('demo-chat', 'Write it to Notes, please', FILE_TOOLS).ended
  expect(first.output).toMatchObject({ is_error: false, num_turns: 2 })
  expect(first.output?.result).toMatch(/^The tool says: File created successfully at: Notes/)
  expect(claude.read('Notes')).toBe('Notes')

  const second = await claude.run('demo-chat', 'Now write it again to Notes, please', [
    ...FILE_TOOLS,
    '--continue',
  ]).ended
  expect(second.output?.result).toMatch(/^The tool says: The file Notes has been updated successfully/)
  const [prompt, again] = [first, second].map(({ output }) => output?.usage)
  if (prompt === undefined || again === undefined) throw new Error('a turn without usage')
  // Each turn has two requests, and its usage is their sum. The prompts of the second turn begin with those of the first.
  const firstPrompts = prompt.input_tokens + prompt.cache_read_input_tokens
  expect(again.cache_read_input_tokens).toBeGreaterThan(0.95 * firstPrompts)
  await expectBalancedBooks(cluster, [account])
})

test('a stream that breaks fails the turn with our message', async ({ claude }) => {
  const { code, output } = await claude.run('test/midstream-error', 'Hello', NO_TOOLS).ended
  expect(code).toBe(1)
  expect(output).toMatchObject({
    is_error: true,
    result: expect.stringContaining('The inference backend failed'),
  })
})

test('uses a tool of an MCP server, also if it has to search for the tool first', async ({ claude }) => {
  const direct = await claude.run('demo-chat', 'Please lookup the tide', claude.mcp).ended
  expect(direct.output).toMatchObject({ is_error: false, result: 'The tool says: HIGH-TIDE-1432' })
  const searched = await claude.run('demo-chat', 'Please search for Tide', claude.mcpSearch).ended
  expect(searched.output).toMatchObject({ is_error: false, result: expect.stringContaining('lookup_tide') })
})

test('goes on after a tool has returned a picture', async ({ claude }) => {
  const first = await claude.run('demo-chat', 'Please draw the chart', claude.mcp).ended
  expect(first.output).toMatchObject({ is_error: false, result: expect.stringContaining('picture') })
  const second = await claude.run('demo-chat', 'Just say hello', [...claude.mcp, '--continue']).ended
  expect(second.output).toMatchObject({ is_error: false, result: expect.stringContaining('Just say hello') })
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
  const servers = { harbour: { command: process.execPath, args: [resolve('test/programs/harbour.mjs')] } }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: servers }))
  const mcp = ['--mcp-config', join(home, 'mcp.json'), '--allowedTools', 'mcp__harbour,ToolSearch', '--tools']

  function run(model: string, task: string, options: readonly string[]) {
    const { child, ended } = startProgram(claudeCode(), ['-p', task, '--output-format', 'json', ...options], {
      cwd: project,
      env: {
        HOME: home,
        ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''),
        ANTHROPIC_API_KEY: apiKey,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_MAX_RETRIES: '1',
        ENABLE_TOOL_SEARCH: String(options.includes(SEARCHED)),
      },
    })
    const read = async () => {
      const { code, output } = await ended
      const [printed] = readJsonLines(output)
      return { code, output: printed === undefined ? null : Output.parse(printed) }
    }
    return { child, ended: read() }
  }

  return {
    run,
    read: (name: string) => readFileSync(join(project, name), 'utf8'),
    mcp: [...mcp, 'Read'],
    mcpSearch: [...mcp, SEARCHED],
  }
}
