import { createAdmin } from './admin.ts'
import { CommandError, EXIT_CODES } from './command-error.ts'
import { COMMANDS } from './commands.ts'
import type { CtlConfig } from './config.ts'
import { findAccess } from './find-access.ts'
import { formatHelp } from './help.ts'
import { parseCommandLine } from './parse-command-line.ts'
import { toPrintable } from './table.ts'

export type Terminal = {
  /** Onto standard output, as fast as it is taken. */
  write(text: string): Promise<void>
  /** One line on standard error. */
  tell(line: string): void
}

/** Does what the words of a command line say, and resolves with the exit code. */
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
      // Not every command asks billing, and only those that do need to know where it is.
      get admin() {
        return createAdmin(findAccess(line, config))
      },
      isJson,
      ...terminal,
    }
    const outcome = await run(context)
    if (outcome === undefined) return 0
    if (!isJson && outcome.text === '') terminal.tell('nothing found')
    await terminal.write(isJson ? `${JSON.stringify(outcome.answer, null, 2)}\n` : outcome.text)
    return outcome.isBadNews === true ? EXIT_CODES.refused : 0
  } catch (error) {
    if (!(error instanceof CommandError)) {
      // A mistake of ours: nobody knows what was done, which is not what a refusal says.
      terminal.tell(`Unexpected: ${error instanceof Error ? error.stack : String(error)}`)
      return EXIT_CODES.unreachable
    }
    terminal.tell(toPrintable(error.message))
    return EXIT_CODES[error.kind]
  }
}
