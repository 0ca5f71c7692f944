import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { NODE, REPOSITORY } from '../bootstrap/repository.mjs'
import { SetupError } from '../bootstrap/fail.mjs'
import { say, startedAt } from '../bootstrap/progress.mjs'

/**
 * Runs `use` with a separate cluster, on a free port and in a new home folder that is removed afterwards. `use`
 * receives the home folder and the environment variables with which clients and operators reach the cluster; it
 * resolves with the exit code.
 */
export async function withCluster(use) {
  const home = makeHome()
  const cluster = startCluster(home, await freePort())
  const stop = () => cluster.stopPipe.destroy()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
  try {
    await cluster.ready
    return await use({ env: readEnvironment(home), home })
  } finally {
    stop()
    await cluster.exited
    rmSync(home, { recursive: true, force: true })
  }
}

/**
 * Makes the home folder with mode 0711, because PostgreSQL runs as another user and passes through it. Installed
 * programs are shared with `npm start`.
 */
function makeHome() {
  const home = mkdtempSync(join(tmpdir(), 'millrace-python-'))
  chmodSync(home, 0o711)
  const tools = join(REPOSITORY, '.millrace/tools')
  mkdirSync(tools, { recursive: true })
  symlinkSync(tools, join(home, 'tools'))
  return home
}

/** Starts the runner of `npm start`, which stops its cluster when the pipe on descriptor 3 ends. */
function startCluster(home, port) {
  const options = {
    host: '127.0.0.1',
    port,
    home,
    logLevel: 'info',
    startedMsAgo: performance.now() - startedAt,
  }
  const child = spawn(NODE, ['scripts/cluster/main.ts', JSON.stringify(options)], {
    cwd: REPOSITORY,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  const stopPipe = child.stdio[3]
  stopPipe.on('error', () => {})
  const exited = once(child, 'exit')
  // Promise.withResolvers is missing in Node 20.
  const ready = new Promise((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      if (line.includes('Millrace is ready at')) resolve()
    })
    exited.then(
      () => reject(new SetupError('The cluster ended before it was ready.')),
      (error) => reject(new SetupError(`The cluster cannot be started: ${error.message}`)),
    )
  })
  say(`starting a cluster on port ${port}`)
  return { stopPipe, exited, ready }
}

function readEnvironment(home) {
  const client = readFileSync(join(home, 'client.env'), 'utf8').trim().split('\n')
  const { processes } = JSON.parse(readFileSync(join(home, 'cluster.json'), 'utf8'))
  const { adminToken } = JSON.parse(readFileSync(join(home, 'secrets.json'), 'utf8'))
  return {
    ...Object.fromEntries(client.map((line) => line.split('='))),
    MILLRACE_ADMIN_URL: processes.find(({ addresses }) => addresses.admin !== undefined).addresses.admin,
    MILLRACE_ADMIN_TOKEN: adminToken,
  }
}

/**
 * Chooses a port below the kernel's ephemeral range, from which an outgoing connection could take the port before the
 * gateway does.
 */
async function freePort() {
  for (;;) {
    const port = randomInt(12_000, 32_768)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.close()
    if (isFree) return port
  }
}
