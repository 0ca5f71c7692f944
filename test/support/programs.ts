import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TOOLS } from './local-servers.ts'

/** Returns the folder of the agent programs in the versions of test/programs/packages/package-lock.json. */
export function programsFolder(): string {
  const version = createHash('sha256')
    .update(readFileSync('test/programs/packages/package-lock.json'))
    .digest('hex')
    .slice(0, 12)
  return join(TOOLS, `programs-of-${version}`)
}

/** Returns the path of a file of the installed packages. */
export const inPrograms = (path: string) => join(programsFolder(), 'node_modules', path)

/** Returns the path of Claude Code, which comes with Anthropic's Agent SDK. */
export const claudeCode = () => inPrograms(`@anthropic-ai/claude-agent-sdk-linux-${process.arch}/claude`)

/** Settings with which a program reaches this machine and no other host. */
export const NO_OTHER_HOST = {
  HTTPS_PROXY: 'http://127.0.0.1:9',
  HTTP_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1',
}

/**
 * Starts an agent program that cannot reach another host. `ended` resolves with the exit code and all that the program
 * printed on standard output. The program ends after 100 s in any case.
 */
export function startProgram(
  command: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
) {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, ...NO_OTHER_HOST, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 100_000,
  })
  let output = ''
  child.stdout.on('data', (piece: Buffer) => (output += piece.toString()))
  child.stderr.resume()
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, output }))
  return { child, ended }
}

/** Returns the objects that a program printed, one a line. */
export const readJsonLines = (output: string): unknown[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): unknown => JSON.parse(line))
