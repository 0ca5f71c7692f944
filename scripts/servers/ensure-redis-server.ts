import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findApt, installWithApt } from './apt.ts'
import { findExecutable, isExecutable } from './find-executable.ts'
import { lastErrorLine } from './last-error-line.ts'
import { sayWhile, type Say } from './say.ts'
import { SetupError } from './setup-error.ts'

const run = promisify(execFile)

/** The version that is compiled on a machine without Redis, and the name of redis-memory-server's folder. */
const REDIS_VERSION = '7.2.11'
const OLDEST_MAJOR = 7

type SetUp = {
  /** A folder for programs that have to be downloaded. */
  tools: string
  say: Say
  /** Aborts a long step. */
  signal?: AbortSignal | undefined
}

/**
 * Returns the path of a redis-server that runs on this machine: the first of these that can be had.
 * - the redis-server on the PATH, if its version is 7 or newer
 * - the redis-server that an earlier call installed into `tools`
 * - the redis-server of the distribution's package, which is installed now if this process is root
 * - a redis-server that is compiled now into `tools`
 *
 * `say` reports every long step. Throws a SetupError that names the missing programs.
 */
export async function ensureRedisServer(options: SetUp): Promise<string> {
  const { tools } = options
  const ready = (await onPath()) ?? fromTools(tools)
  if (ready !== undefined) return ready
  mkdirSync(tools, { recursive: true })
  return (await fromDistribution(options)) ?? (await compile(options))
}

/**
 * Returns the redis-server on the PATH, unless it is older than 7: older versions cannot run the Lua scripts (`#!lua
 * flags`).
 */
async function onPath(): Promise<string | undefined> {
  const found = findExecutable('redis-server')
  if (found === undefined) return undefined
  const { stdout } = await run(found, ['--version']).catch(() => ({ stdout: '' }))
  return Number(/v=(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_MAJOR ? found : undefined
}

function fromTools(tools: string): string | undefined {
  return [join(tools, 'redis-server'), compiledPath(tools)].find(isExecutable)
}

function compiledPath(tools: string): string {
  return join(tools, 'redis-builds', REDIS_VERSION, 'redis-server')
}

/**
 * Installs redis-tools from Debian or Ubuntu. Its program redis-check-rdb is also the server: if it is started under
 * the name redis-server, it runs as the server. So this function makes a link with this name in `tools`. The package
 * redis-server would add only such a link and an unwanted system service.
 */
async function fromDistribution({ tools, say, signal }: SetUp): Promise<string | undefined> {
  const apt = findApt()
  if (apt === undefined) return undefined
  try {
    await sayWhile(say, 'installing Redis with apt-get (package redis-tools)', async () => {
      await installWithApt(apt, [['redis-tools']], { signal })
    })
  } catch (error) {
    signal?.throwIfAborted()
    say(`apt-get could not install it (${lastErrorLine(error)})`)
    return undefined
  }
  const binary = findExecutable('redis-check-rdb')
  if (binary === undefined) return undefined
  const link = join(tools, 'redis-server')
  if (!existsSync(link)) symlinkSync(binary, link)
  const { stdout } = await run(link, ['--version']).catch(() => ({ stdout: '' }))
  return stdout.startsWith('Redis server') ? link : undefined
}

/** Compiles Redis with the npm package redis-memory-server, which downloads its source from redis.io. */
async function compile({ tools, say, signal }: SetUp): Promise<string> {
  const missing = ['make', 'cc'].filter((command) => findExecutable(command) === undefined)
  if (missing.length > 0) {
    throw new SetupError(
      `redis-server is not on the PATH, and without ${missing.join(' and ')} it cannot be compiled: install redis-server 7, or a C compiler and make.`,
    )
  }
  const env = {
    ...process.env,
    REDISMS_VERSION: REDIS_VERSION,
    REDISMS_DOWNLOAD_DIR: join(tools, 'redis-builds'),
    // The package checks certificates only with this setting of npm.
    npm_config_strict_ssl: 'true',
  }
  const install = [
    'install',
    '--prefix',
    tools,
    '--no-save',
    '--ignore-scripts',
    'redis-memory-server@0.17.1',
  ]
  const build =
    "require('redis-memory-server/lib/util/RedisBinary').default.getPath({}).catch((error) => { console.error(error.message); process.exit(1) })"
  try {
    await sayWhile(say, `compiling Redis ${REDIS_VERSION} (a few minutes, once)`, async () => {
      await run('npm', install, { signal, timeout: 120_000 })
      await run(process.execPath, ['-e', build], {
        cwd: tools,
        env,
        signal,
        timeout: 900_000,
        maxBuffer: 64 << 20,
      })
    })
  } catch (error) {
    signal?.throwIfAborted()
    throw new SetupError(
      `redis-server is not on the PATH and could not be compiled (${lastErrorLine(error)}): install redis-server 7.`,
      { cause: error },
    )
  }
  return compiledPath(tools)
}
