import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { identifyProcess } from '#scripts/servers/process-identity.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { scratchFolder } from '../support/run-folder.ts'

test('a process does not outlive its owner, even when that is killed with -9', async () => {
  const folder = scratchFolder('guard')
  const owner = spawn(process.execPath, ['--input-type=module-typescript', '-e', ownerProgram(folder)], {
    cwd: REPOSITORY,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed] = await once(owner.stdout, 'data')
  const pid = Number(String(printed))
  expect(identifyProcess(pid)).toBeDefined()
  owner.kill('SIGKILL')
  await expect.poll(() => identifyProcess(pid)).toBeUndefined()
})

/** Returns a program that starts a process that would run for ever, and prints the process's number. */
function ownerProgram(folder: string): string {
  return `
    const { startProcess } = await import(${JSON.stringify(join(REPOSITORY, 'scripts/servers/start-process.ts'))})
    const running = await startProcess({
      name: 'sleeper', command: 'sleep', args: ['infinity'], cwd: '/', env: process.env,
      logFile: ${JSON.stringify(join(folder, 'log'))}, stop: { signal: 'SIGTERM', graceMs: 1000 },
    })
    console.log(running.pid)
    setInterval(() => {}, 1000)`
}
