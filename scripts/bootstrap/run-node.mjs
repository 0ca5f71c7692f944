import { spawn } from 'node:child_process'
import { REPOSITORY, NODE } from './repository.mjs'

const SIGNALS = ['SIGINT', 'SIGTERM']

let isInterrupted = false

/**
 * Runs a program under the installed Node, in this terminal, and resolves with its exit code. `within` is an outer
 * command, to which Node and the program are appended as arguments.
 */
export async function runNode(args, env = {}, within = []) {
  const [command, ...rest] = [...within, NODE, ...args]
  return await untilExit(
    spawn(command, rest, { cwd: REPOSITORY, stdio: 'inherit', env: { ...process.env, ...env } }),
  )
}

/** Runs a program under the installed Node and resolves with its exit code and all of its output. */
export async function runNodeQuietly(args, env = {}) {
  if (isInterrupted) return { code: 1, output: 'interrupted' }
  const child = spawn(NODE, args, {
    cwd: REPOSITORY,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const pieces = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => pieces.push(piece))
  const code = await untilExit(child, 'close')
  return { code, output: Buffer.concat(pieces).toString() }
}

async function untilExit(child, event = 'exit') {
  // A Ctrl-C reaches the child too. This process stays to return the child's exit code, and starts nothing more.
  const pass = (signal) => {
    isInterrupted = true
    child.kill(signal)
  }
  for (const signal of SIGNALS) process.on(signal, pass)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once(event, (code) => resolve(code ?? 1))
    })
  } finally {
    for (const signal of SIGNALS) process.off(signal, pass)
  }
}
