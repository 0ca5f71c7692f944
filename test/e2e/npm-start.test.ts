import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { isRunning, ProcessIdentity } from '#scripts/servers/process-identity.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { freePort } from '../support/free-port.ts'
import { scratchFolder } from '../support/run-folder.ts'

// Runs `npm start` in a new clone without node_modules, from a shell without our settings.

const LIMIT_MS = 300_000
const run = promisify(execFile)

const ClusterFile = z.object({
  runner: ProcessIdentity,
  processes: z.array(
    z.object({ name: z.string(), identity: ProcessIdentity, addresses: z.record(z.string(), z.string()) }),
  ),
})
type ClusterFile = z.infer<typeof ClusterFile>

type Start = {
  output(): string
  onOutput(listener: () => void): void
  exited: Promise<number | null>
  stop(): void
}

const clone = { folder: '', home: '', port: 0 }

beforeAll(async () => {
  clone.folder = join(scratchFolder('clone'), 'millrace')
  clone.home = join(scratchFolder('home'), 'state')
  clone.port = await freePort()
  await run('git', ['clone', '--quiet', '--no-hardlinks', REPOSITORY, clone.folder])
})

test(
  'a fresh clone starts, answers the printed curl line and npx millrace, refuses a second start, stops and starts again',
  { timeout: LIMIT_MS * 2 },
  async () => {
    const first = npmStart()
    await ready(first)
    const line = printedLine(first)
    expect((await run('sh', ['-c', line])).stdout).toContain('data: [DONE]')
    expect((await npx('millrace', 'accounts', 'list')).stdout).toMatch(/^\S+ +demo +active /m)
    const { stdout: link } = await npx('millrace', 'console')
    expect(link).toMatch(/^http:\/\/[0-9a-f]{16}\.localhost:\d+\/#ticket=\S+\n$/)
    expect(first.output()).toContain(`the operators' page is at ${new URL(link).origin};`)
    expect((await npx('millrace', 'top', '--once')).stdout).toContain('demo-chat')

    const second = npmStart()
    expect(await second.exited).not.toBe(0)
    expect(second.output()).toContain(`already runs at http://127.0.0.1:${clone.port}`)

    const before = readCluster()
    await hangUpInTheMiddle(line)
    first.stop()
    await first.exited
    // npm may end before the processes that it ran: wait for the end of each.
    await expect.poll(() => runningOf(before), { timeout: LIMIT_MS }).toEqual([])

    const third = npmStart()
    await ready(third)
    expect(printedLine(third)).toBe(line)
    await expect.poll(heldNano, { timeout: LIMIT_MS }).toBe('0')
    const after = readCluster()
    third.stop()
    await third.exited
    await expect.poll(() => runningOf(after), { timeout: LIMIT_MS }).toEqual([])
  },
)

function npmStart(): Start {
  const child = spawn('npm', ['start'], {
    cwd: clone.folder,
    env: plainShell(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const outputs = [child.stdout, child.stderr]
  for (const stream of outputs) stream.on('data', (chunk) => (output += String(chunk)))
  const onOutput = (listener: () => void) => outputs.forEach((stream) => stream.on('data', listener))
  const exited = Promise.withResolvers<number | null>()
  child.once('exit', (code) => exited.resolve(code))
  const stop = () => void child.kill('SIGTERM')
  onTestFinished(stop)
  return { output: () => output, onOutput, exited: exited.promise, stop }
}

async function npx(...words: string[]): Promise<{ stdout: string }> {
  // npx writes the checkout into npm's cache, where it would outlive this test.
  const env = { ...plainShell(), npm_config_cache: scratchFolder('npm-cache') }
  return await run('npx', words, { cwd: clone.folder, env })
}

/** The environment without the variables that npm and Vitest set, and without our own Node on the PATH. */
function plainShell(): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|MILLRACE_|VITEST|NODE_)/.test(name),
  )
  const path = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'))
  return {
    ...Object.fromEntries(inherited),
    PATH: path.join(':'),
    PORT: String(clone.port),
    MILLRACE_HOME: clone.home,
  }
}

/** Resolves when the start prints that it is ready; rejects with its output when it ends instead. */
async function ready(start: Start): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  start.onOutput(() => {
    if (start.output().includes('Ctrl-C stops everything')) resolve()
  })
  void start.exited.then(() => reject(new Error(`npm start ended:\n${start.output()}`)))
  await promise
}

function printedLine(start: Start): string {
  return /^curl .*$/m.exec(start.output())?.[0] ?? 'no curl line'
}

/** Leaves a stream open while the cluster stops. Its hold must be gone after the next start. */
async function hangUpInTheMiddle(line: string): Promise<void> {
  const child = spawn('sh', ['-c', `exec ${line}`], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill())
  await new Promise((resolve) => child.stdout.once('data', resolve))
}

function readCluster(): ClusterFile {
  return ClusterFile.parse(JSON.parse(readFileSync(join(clone.home, 'cluster.json'), 'utf8')))
}

function runningOf(cluster: ClusterFile): string[] {
  const members = [{ name: 'runner', identity: cluster.runner }, ...cluster.processes]
  return members.filter((member) => isRunning(member.identity)).map((member) => member.name)
}

async function heldNano(): Promise<string> {
  const admin = readCluster().processes.find((member) => member.name === 'billing')?.addresses['admin']
  const account = z.object({ id: z.string() }).parse(readState('account.json'))
  const { adminToken } = z.object({ adminToken: z.string() }).parse(readState('secrets.json'))
  const response = await fetch(`${admin}/admin/v1/accounts/${account.id}`, {
    headers: { authorization: `Bearer ${adminToken}` },
  })
  return z.object({ heldNano: z.string() }).parse(await response.json()).heldNano
}

function readState(name: string): unknown {
  return JSON.parse(readFileSync(join(clone.home, name), 'utf8'))
}
