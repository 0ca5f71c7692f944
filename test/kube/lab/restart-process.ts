import { spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../../support/until.ts'

/**
 * Kills a process of the lab and returns a function that starts it again with the same arguments. That function writes
 * the new process's number to the file that the lab's scripts read, so that the scripts end the new process.
 */
export async function killLabProcess(name: string): Promise<() => void> {
  const state = process.env['KUBE_LAB_STATE']
  if (state === undefined)
    throw new Error('KUBE_LAB_STATE is not set: start these tests by npm run test:kube')
  const pidFile = join(state, 'run', `${name}.pid`)
  const pid = Number(readFileSync(pidFile, 'utf8'))
  const [command = '', ...args] = readStrings(`/proc/${pid}/cmdline`)
  const env = Object.fromEntries(
    readStrings(`/proc/${pid}/environ`).map((entry) => {
      const end = entry.indexOf('=')
      return [entry.slice(0, end), entry.slice(end + 1)]
    }),
  )
  process.kill(pid, 'SIGKILL')
  await until(
    async () => !existsSync(`/proc/${pid}/cmdline`) || readStrings(`/proc/${pid}/cmdline`).length === 0,
  )
  return () => {
    const log = openSync(join(state, 'log', `${name}.log`), 'a')
    const child = spawn(command, args, { env, detached: true, stdio: ['ignore', log, log] })
    child.unref()
    writeFileSync(pidFile, `${child.pid}\n`)
  }
}

const readStrings = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\0')
    .filter((text) => text !== '')
