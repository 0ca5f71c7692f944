import { spawn } from 'node:child_process'
import { NODE, REPOSITORY } from './dependencies.mjs'

/**
 * Runs the cluster under the installed Node and resolves with its exit code. It runs in a process group of
 * its own and is told to stop by the end of a pipe: that reaches it once however often a signal arrives here
 * (terminal, npm and shell each pass it on), and also when this process is killed.
 */
export async function runCluster(options) {
  const child = spawn(NODE, ['scripts/cluster/main.ts', JSON.stringify(options)], {
    cwd: REPOSITORY,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const leash = child.stdio[3]
  leash.on('error', () => {})
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => leash.destroy())
  const parent = process.ppid
  // npm passes SIGTERM to a shell that may die without telling us; a new parent is then the only news.
  const watch =
    process.env.npm_lifecycle_event === undefined
      ? undefined
      : setInterval(() => process.ppid !== parent && leash.destroy(), 500)
  return await new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`Cannot run ${NODE}: ${error.message}`)
      resolve(1)
    })
    child.once('exit', (code, signal) => {
      clearInterval(watch)
      if (signal !== null)
        console.error(`The cluster's runner ended by ${signal}; what it started is being stopped.`)
      resolve(code ?? 1)
    })
  })
}
