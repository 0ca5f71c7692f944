import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { NODE, REPOSITORY } from './repository.mjs'

/**
 * Runs the cluster under the installed Node and resolves with its exit code. The cluster runs in its own process group
 * and stops when a pipe from this process ends. A signal may arrive in this process several times, because the
 * terminal, npm and the shell each pass it on. The pipe ends only once, even if this process is killed.
 */
export async function runCluster(options) {
  const child = spawn(NODE, ['scripts/cluster/main.ts', JSON.stringify(options)], {
    cwd: REPOSITORY,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const stopPipe = child.stdio[3]
  stopPipe.on('error', () => {})
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stopPipe.destroy())
  const watch = watchCaller(() => stopPipe.destroy())
  return await new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`Cannot run ${NODE}: ${error.message}`)
      resolve(1)
    })
    child.once('exit', (code, signal) => {
      clearInterval(watch)
      if (signal !== null)
        console.error(`The cluster's runner was ended by ${signal}; its processes are being stopped.`)
      resolve(code ?? 1)
    })
  })
}

/**
 * Calls `gone` when npm, or the shell between npm and this process, has ended: npm sends SIGTERM to the shell, which
 * may end without passing the signal on. Without npm it watches nothing, because a parent may end and leave this
 * process running.
 */
function watchCaller(gone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined
  const callers = [process.ppid, parentOf(process.ppid)]
  // If there is no shell between npm and this process, the second caller is the caller of npm. It may end while the
  // cluster runs.
  if (nameOf(callers[0]).startsWith('npm')) callers.pop()
  const isAlone = () =>
    process.ppid !== callers[0] || (callers.length > 1 && parentOf(callers[0]) !== callers[1])
  return setInterval(() => isAlone() && gone(), 500)
}

function parentOf(pid) {
  const stat = readProc(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function nameOf(pid) {
  return readProc(pid, 'comm')
}

function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
