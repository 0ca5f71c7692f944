import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { runs } from '#test/support/long.ts'
import { test as clientTest, type ClientAccess } from '../../../support/client-test.ts'
import { inPrograms, readJsonLines, startProgram } from '../../../support/programs.ts'
import { scratchFolder } from '../../../support/run-folder.ts'

const test = clientTest.extend('opencode', ({ access }) => installOpencode(access))

/** Each package uses another interface. `npm test` runs the first one. */
const PACKAGES = ['@ai-sdk/openai', '@ai-sdk/openai-compatible', '@ai-sdk/anthropic']

describe.each(PACKAGES.slice(0, runs(1, PACKAGES.length)))('with the provider %s', (npm) => {
  test('uses a tool of an MCP server on a model that writes reasoning', async ({ opencode }) => {
    const { code, output } = await opencode(npm, 'Please lookup the tide').ended
    const printed = readJsonLines(output).map((line) => Printed.parse(line))
    expect(code).toBe(0)
    expect(printed.filter(({ type }) => type === 'error')).toEqual([])
    expect(printed.flatMap(({ part }) => part?.tool ?? [])).toEqual(['harbour_lookup_tide'])
    expect(printed.flatMap(({ part }) => part?.text ?? []).at(-1)).toBe('The tool says: HIGH-TIDE-1432')
  })
})

const Printed = z.object({
  type: z.string(),
  part: z.object({ tool: z.string().optional(), text: z.string().optional() }).optional(),
})

/** Installs an opencode with a home folder of its own. It knows our gateway and cannot reach any other host. */
function installOpencode({ baseUrl, apiKey }: ClientAccess) {
  return (npm: string, task: string) => {
    const home = scratchFolder('opencode')
    const project = join(home, 'project')
    mkdirSync(project)
    const settings = {
      model: 'millrace/demo-reasoning',
      small_model: 'millrace/demo-reasoning',
      autoupdate: false,
      share: 'disabled',
      provider: {
        millrace: {
          npm,
          name: 'Millrace',
          options: { baseURL: baseUrl, apiKey },
          models: {
            'demo-reasoning': { name: 'demo', reasoning: true, limit: { context: 32_768, output: 1_024 } },
          },
        },
      },
      mcp: { harbour: { type: 'local', command: [process.execPath, resolve('test/programs/harbour.mjs')] } },
    }
    writeFileSync(join(project, 'opencode.json'), JSON.stringify(settings))
    const command = inPrograms(`opencode-linux-${process.arch}/bin/opencode`)
    return startProgram(command, ['run', '--format', 'json', task], {
      cwd: project,
      env: { HOME: home, XDG_DATA_HOME: join(home, 'data') },
    })
  }
}
