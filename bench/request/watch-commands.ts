import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'

export type WatchedCommands = ReadonlyMap<string, { calls: number; inside: number }>

/**
 * Watches with MONITOR everything that a Redis executes until `until` resolves. Returns how often clients called each
 * command and each script (`calls`), and for a script also how many commands it executed in these calls (`inside`). A
 * script is listed by the name of its file in the checkout at `root`. MONITOR slows the server down, so nothing else is
 * measured at the same time.
 */
export async function watchCommands(options: {
  redisUrl: string
  root: string
  until: Promise<unknown>
}): Promise<WatchedCommands> {
  const names = await nameScripts(options.root)
  const counts = new Map<string, { calls: number; inside: number }>()
  let current = { calls: 0, inside: 0 }
  const monitor = await openMonitor(options.redisUrl, ({ isInside, command, argument }) => {
    if (isInside) {
      current.inside += 1
      return
    }
    const name = command === 'EVALSHA' ? (names.get(argument) ?? `script ${argument.slice(0, 8)}`) : command
    current = counts.get(name) ?? { calls: 0, inside: 0 }
    current.calls += 1
    counts.set(name, current)
  })
  try {
    await options.until
  } finally {
    monitor.destroy()
  }
  return counts
}

type Executed = {
  /** True if a script executed the command. */
  readonly isInside: boolean
  readonly command: string
  /** The first argument; for a script its hash. */
  readonly argument: string
}

/**
 * Calls `onCommand` for each command that the server executes, until the socket is destroyed. The commands inside a
 * script follow the script's own command. ioredis' monitor is not used, because it misparses a command that arrives
 * together with the reply to MONITOR.
 */
async function openMonitor(redisUrl: string, onCommand: (executed: Executed) => void): Promise<Socket> {
  const { hostname, port, password } = new URL(redisUrl)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  if (password !== '') socket.write(`AUTH ${decodeURIComponent(password)}\r\n`)
  socket.write('MONITOR\r\n')
  createInterface({ input: socket }).on('line', (line) => {
    if (line.startsWith('-')) socket.destroy(new Error(line))
    const match = /^\+[\d.]+ \[\d+ ([^\]]*)\] "([^"]*)"(?: "([^"]*)")?/u.exec(line)
    if (match === null) return
    const [, source, command = '', argument = ''] = match
    onCommand({ isInside: source === 'lua', command: command.toUpperCase(), argument })
  })
  return socket
}

const Script = z.object({ name: z.string(), content: z.string() })

/** Returns the name of each script of the checkout and of BullMQ, by hash. */
async function nameScripts(root: string): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  const add = (text: string, name: string) => names.set(createHash('sha1').update(text).digest('hex'), name)
  for (const path of globSync('libs/*/scripts/*.lua', { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8')
    const shared = join(root, dirname(path), 'shared.lua')
    const starts = existsSync(shared) ? ['', `${readFileSync(shared, 'utf8')}\n`] : ['']
    for (const flags of ['', ' flags=allow-oom', ' flags=no-writes'])
      for (const start of starts) add(`#!lua${flags}\n${start}${text}`, basename(path, '.lua'))
  }
  const bullmq = join(root, 'node_modules/bullmq/dist/esm/scripts')
  for (const path of globSync('*-*.js', { cwd: bullmq })) {
    const module: unknown = await import(pathToFileURL(join(bullmq, path)).href)
    const [script] = Object.values(z.record(z.string(), Script).parse({ ...z.looseObject({}).parse(module) }))
    if (script !== undefined) add(script.content, `bullmq ${script.name}`)
  }
  return names
}
