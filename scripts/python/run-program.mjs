import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { REPOSITORY } from '../bootstrap/repository.mjs'

/** Runs a program in this terminal, ends it after `limitMs`, and resolves with its exit code. */
export async function runProgram(command, args, { env, limitMs }) {
  const child = spawn(command, args, {
    cwd: REPOSITORY,
    stdio: ['ignore', 'inherit', 'inherit'],
    // PYTHONDONTWRITEBYTECODE keeps compiled Python out of the work tree.
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env },
    timeout: limitMs,
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'exit')
  return code ?? 1
}
