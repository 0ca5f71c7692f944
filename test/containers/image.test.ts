import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { docker, image } from './docker.ts'

const ROLES = readdirSync(join(REPOSITORY, 'apps'))

test('the user of the image is a number, which Kubernetes needs to see that it is not root', async () => {
  const user = await docker(['image', 'inspect', '--format', '{{.Config.User}}', image()])
  expect(user.trim()).toBe('1000:1000')
})

test('without a role it names the roles and ends with 2', async () => {
  const outcome = await runRole([])
  expect(outcome.code).toBe(2)
  expect(ROLES).toContain('gateway')
  for (const role of ROLES) expect(outcome.stderr).toContain(role)
})

test('a role runs in any working folder, so that arguments may name mounted files', async () => {
  const outcome = await runRole(['ctl', '--help'], ['--workdir', '/tmp'])
  expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('workers') })
})

test.for(ROLES)(
  '%s takes all its code from the compile cache, on a read-only root file system',
  async (role) => {
    // The app loads its code, then exits because it has no configuration.
    const { stderr } = await runRole([role], ['--env', 'NODE_DEBUG_NATIVE=COMPILE_CACHE'])
    const lines = stderr.split('\n')
    // The files that Node compiled anew, because the cache has no entry for them or V8 refuses the entry.
    expect(
      lines.filter((line) => /was rejected|no such file|not initialized|\.\.\.failed/.test(line)),
    ).toEqual([])
    expect(lines.filter((line) => line.includes('was accepted')).length).toBeGreaterThan(100)
  },
)

async function runRole(args: readonly string[], options: readonly string[] = []) {
  try {
    const limits = ['--rm', '--read-only', '--network', 'none', '--cap-drop', 'ALL']
    const stdout = await docker(['run', ...limits, ...options, image(), ...args])
    return { code: 0, stdout, stderr: '' }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && 'stderr' in error)) throw error
    return { code: error.code, stdout: '', stderr: String(error.stderr) }
  }
}
