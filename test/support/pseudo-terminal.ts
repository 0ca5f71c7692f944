import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'

export type PseudoTerminal = {
  /** Returns the program's output so far. */
  output(): string
  type(keys: string): void
  /** Sends a signal to the program itself. */
  signal(name: NodeJS.Signals): void
  /** Resolves with the program's exit code. */
  readonly exited: Promise<number | null>
}

/**
 * Runs a program in a terminal of 100 columns and 24 rows, which the program `script` of util-linux makes. `words` must
 * not contain quotes. A program that still runs at the end of the test is killed.
 */
export function openTerminal(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): PseudoTerminal {
  const command = `stty rows 24 cols 100; exec ${words.map((word) => `'${word}'`).join(' ')}`
  const terminal = spawn('script', ['-qfec', command, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  onTestFinished(() => void terminal.kill('SIGKILL'))
  let output = ''
  terminal.stdout.setEncoding('utf8')
  terminal.stdout.on('data', (piece: string) => (output += piece))
  return {
    output: () => output,
    type: (keys) => void terminal.stdin.write(keys),
    signal(name) {
      const { pid } = terminal
      const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
      process.kill(child, name)
    },
    exited: once(terminal, 'exit').then(([code]) => (typeof code === 'number' ? code : null)),
  }
}
