import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { runs } from '#test/support/long.ts'
import { test, type ClientAccess } from '../../../support/client-test.ts'
import { inPrograms, startProgram } from '../../../support/programs.ts'
import { scratchFolder } from '../../../support/run-folder.ts'

/** `npm test` runs the first interface. */
const APIS = ['openai-responses', 'openai-completions', 'anthropic-messages']

describe.each(APIS.slice(0, runs(1, APIS.length)))('pi over %s', (api) => {
  test('edits a file with its own tools on a model that writes reasoning', async ({ access }) => {
    const pi = installPi(access, api)
    const first = await pi.run('Please write it to Notes').ended
    expect(first).toEqual({ code: 0, output: expect.stringMatching(/^The tool says: Successfully wrote/) })
    expect(pi.read('Notes')).toBe('Notes')
    const second = await pi.run('Thanks!', ['--continue']).ended
    expect(second).toEqual({ code: 0, output: expect.stringMatching(/^You said: Thanks!/) })
  })
})

/** Installs a pi with a home folder of its own. It knows our gateway and cannot reach any other host. */
function installPi({ baseUrl, apiKey }: ClientAccess, api: string) {
  const home = scratchFolder('pi')
  const project = join(home, 'project')
  mkdirSync(project)
  const root = api === 'anthropic-messages' ? baseUrl.replace(/\/v1$/, '') : baseUrl
  const models = [{ id: 'demo-reasoning', reasoning: true, contextWindow: 32_768, maxTokens: 1_024 }]
  const providers = { millrace: { baseUrl: root, api, apiKey, models } }
  writeFileSync(join(home, 'models.json'), JSON.stringify({ providers }))
  const options = ['--provider', 'millrace', '--model', 'demo-reasoning', '--thinking', 'high', '--print']

  return {
    run: (task: string, more: readonly string[] = []) =>
      startProgram(
        process.execPath,
        [inPrograms('@mariozechner/pi-coding-agent/dist/cli.js'), ...options, ...more, task],
        {
          cwd: project,
          env: { HOME: home, PI_CODING_AGENT_DIR: home, PI_OFFLINE: '1', PI_TELEMETRY: '0' },
        },
      ),
    read: (name: string) => readFileSync(join(project, name), 'utf8'),
  }
}
