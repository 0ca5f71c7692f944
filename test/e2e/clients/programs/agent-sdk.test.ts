import { expect } from 'vitest'
import { z } from 'zod'
import { test } from '../../../support/client-test.ts'
import { inPrograms, NO_OTHER_HOST } from '../../../support/programs.ts'
import { scratchFolder } from '../../../support/run-folder.ts'

test("Anthropic's Agent SDK runs a loop with a tool that the program defines", async ({
  access: { baseUrl, apiKey },
}) => {
  const { query, createSdkMcpServer, tool } = AgentSdk.parse(
    await import(inPrograms('@anthropic-ai/claude-agent-sdk/sdk.mjs')),
  )
  const lookUp = tool('lookup_tide', 'Returns the tide of a harbour.', { harbour: z.string() }, async () => ({
    content: [{ type: 'text', text: 'HIGH-TIDE-1432' }],
  }))
  const home = scratchFolder('agent-sdk')
  const messages = query({
    prompt: 'Please lookup the tide',
    options: {
      cwd: home,
      model: 'demo-chat',
      tools: [],
      settingSources: [],
      maxTurns: 4,
      mcpServers: { harbour: createSdkMcpServer({ name: 'harbour', tools: [lookUp] }) },
      allowedTools: ['mcp__harbour__lookup_tide'],
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''),
        ANTHROPIC_API_KEY: apiKey,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'demo-chat',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        ...NO_OTHER_HOST,
      },
    },
  })
  const [result] = (await Array.fromAsync(messages)).slice(-1)
  expect(result).toMatchObject({ is_error: false, result: 'The tool says: HIGH-TIDE-1432' })
})

/** The package is not among the repository's own, so its types are not known. */
const AgentSdk = z.object({
  query: z.custom<(call: object) => AsyncIterable<unknown>>(),
  createSdkMcpServer: z.custom<(server: object) => unknown>(),
  tool: z.custom<(...parts: readonly unknown[]) => unknown>(),
})
