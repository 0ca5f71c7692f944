import { spawn } from 'node:child_process'
import { REPOSITORY, NODE } from './dependencies.mjs'

/**
 * Runs a program under the installed Node, in this terminal, and resolves with its exit code. `within` is a command that
 * runs the command behind it.
 */
export async function runNode(args, env = {}, within = []) {
  const [command, ...rest] = [...within, NODE, ...args]
  const child = spawn(command, rest, { cwd: REPOSITORY, stdio: 'inherit', env: { ...process.env, ...env } })
  // A Ctrl-C reaches the child as well; this process stays to return its exit code.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  return await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
