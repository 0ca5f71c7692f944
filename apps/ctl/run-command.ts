import { joinCell } from '#libs/config/cell.ts'
import { redactCredentials, toPrintedError } from '#libs/telemetry/loggable-error.ts'
import { createAdmin } from './admin.ts'
import { runChat } from './chat/run-chat.ts'
import { createBus } from './bus.ts'
import { CommandError, EXIT_CODES } from './command-error.ts'
import { COMMANDS } from './commands.ts'
import type { CtlConfig } from './config.ts'
import { findAccess } from './find-access.ts'
import { findConsole } from './find-console.ts'
import { findBus } from './find-bus.ts'
import { formatHelp } from './help.ts'
import { parseCommandLine } from './parse-command-line.ts'
import { toPrintable } from './table.ts'
import { readTop, runTop } from './top/run-top.ts'

export type Terminal = {
  /** Writes to standard output; resolves when more may be written. */
  write(text: string): Promise<void>
  /** Prints one line on standard error. */
  note(line: string): void
}

/** Runs the command of a command line and resolves with the exit code. */
export async function runCommand(
  words: readonly string[],
  config: CtlConfig,
  terminal: Terminal,
): Promise<number> {
  try {
    const line = parseCommandLine(COMMANDS, words)
    if (line.kind === 'help') {
      await terminal.write(formatHelp(COMMANDS, line.words))
      return 0
    }
    const { run, isJson } = line
    const context = {
      // The clients are getters, so that a command that uses neither billing nor the bus needs no address of either.
      get admin() {
        return createAdmin(findAccess(line, config))
      },
      get bus() {
        const { cell, servers } = findBus(config)
        joinCell(cell)
        return createBus(servers)
      },
      consoleUrl: () => findConsole(config).browsers,
      isJson,
      async top(once: boolean) {
        const console = { url: findConsole(config).programs, token: findAccess(line, config).token }
        if (once || isJson || !process.stdout.isTTY || !process.stdin.isTTY) return await readTop(console)
        await runTop(console, { isColored: config.NO_COLOR === undefined })
        return undefined
      },
      chat: async (model: string | undefined) => await runChat({ model }, config, terminal),
      ...terminal,
    }
    const outcome = await run(context)
    if (outcome === undefined) return 0
    if (!isJson && outcome.text === '') terminal.note('nothing found')
    await terminal.write(isJson ? `${JSON.stringify(outcome.answer, null, 2)}\n` : outcome.text)
    return outcome.isProblem === true ? EXIT_CODES.refused : 0
  } catch (error) {
    if (!(error instanceof CommandError)) {
      // This is a bug. The change may have been made, so the exit code must differ from the code of a refusal.
      terminal.note(`Unexpected: ${toPrintedError(error)}`)
      return EXIT_CODES.unreachable
    }
    terminal.note(toPrintable(redactCredentials(error.message)))
    return EXIT_CODES[error.kind]
  }
}
