/** Lines with one message that are logged at once, and the time after which one more is logged. */
const MOST_AT_ONCE = 50
const ONE_MORE_MS = 1_000

/** The most messages whose lines are counted; a message that contains a value would otherwise fill the memory. */
const MOST_MESSAGES = 1_000

type Lines = { room: number; atMs: number; unreported: number }

/**
 * Returns a function that is called before each line is logged. It returns null if the line must be left out, because
 * there were too many lines with its message; else it returns how many lines with this message were left out since the
 * last one. So an outage that fails every request costs one line a second for each kind of failure.
 */
export function boundLines(nowMs: () => number): (message: string) => number | null {
  const byMessage = new Map<string, Lines>()
  return (message) => {
    const ms = nowMs()
    if (byMessage.size >= MOST_MESSAGES) byMessage.clear()
    const lines = byMessage.get(message) ?? { room: MOST_AT_ONCE, atMs: ms, unreported: 0 }
    byMessage.set(message, lines)
    lines.room = Math.min(MOST_AT_ONCE, lines.room + (ms - lines.atMs) / ONE_MORE_MS)
    lines.atMs = ms
    if (lines.room < 1) {
      lines.unreported += 1
      return null
    }
    const { unreported } = lines
    lines.room -= 1
    lines.unreported = 0
    return unreported
  }
}
