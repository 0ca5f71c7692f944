import { writeSync } from 'node:fs'

export type Screen = {
  /**
   * Writes only the lines that differ from the lines of the previous call. A line may have colours. It must not be
   * wider than the terminal.
   */
  draw(lines: readonly string[]): void
  /** Lets the next `draw` write every line, because the terminal has another size. */
  forget(): void
  /** Restores the terminal. */
  close(): void
}

const ENTER = '\u001B[?1049h\u001B[?25l'
const LEAVE = '\u001B[?25h\u001B[?1049l'
/**
 * Terminals that support synchronized output show the text between these two codes at once; others ignore the codes.
 */
const BEGIN = '\u001B[?2026h'
const END = '\u001B[?2026l'
const CLEAR = '\u001B[2J'
const CLEAR_TO_END = '\u001B[K'

/**
 * Switches to the terminal's alternate screen. `close` switches back. An exit handler does so too if the process ends
 * without `close`. The exit handler writes synchronously, because an asynchronous write would be lost when the process
 * exits.
 */
export function openScreen(output: typeof process.stdout): Screen {
  let shown: readonly string[] | null = null
  let isOpen = true
  const leave = () => {
    if (!isOpen) return
    isOpen = false
    writeSync(output.fd, LEAVE)
  }
  process.on('exit', leave)
  output.write(ENTER)

  return {
    draw(lines) {
      if (!isOpen) return
      const before = shown
      const changed = Array.from({ length: Math.max(lines.length, before?.length ?? 0) }, (_, row) => row)
        .filter((row) => before === null || lines[row] !== before[row])
        .map((row) => `\u001B[${row + 1};1H${lines[row] ?? ''}${CLEAR_TO_END}`)
      if (changed.length > 0) output.write(BEGIN + (before === null ? CLEAR : '') + changed.join('') + END)
      shown = lines
    },
    forget() {
      shown = null
    },
    close() {
      process.off('exit', leave)
      leave()
    },
  }
}
