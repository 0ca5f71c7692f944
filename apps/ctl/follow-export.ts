import { z } from 'zod'
import { CommandError } from './command-error.ts'

const Line = z.object({ cursor: z.string() })

/**
 * Writes an export to its end, one portion after another. Each portion is requested with the cursor of the previous
 * portion's last line. CSV titles are written once, and only whole lines are written. If the export is cut off, throws
 * a CommandError with the cursor from which to continue.
 */
export async function followExport(
  io: {
    open(asked: { limit: number; cursor: string | undefined }): Promise<AsyncIterable<string>>
    write(text: string): Promise<void>
  },
  options: {
    format: 'csv' | 'jsonl'
    limit: number | undefined
    cursor: string | undefined
    portion: number
  },
): Promise<void> {
  const { format, portion, limit = Number.MAX_SAFE_INTEGER } = options
  const hasTitles = format === 'csv'
  let { cursor } = options
  let total = 0
  for (let isFirst = true; total < limit || isFirst; isFirst = false) {
    const size = Math.min(portion, limit - total)
    const lines = splitLines(await io.open({ limit: size, cursor }))
    let entries = hasTitles ? -1 : 0
    try {
      for await (const whole of lines) {
        const isTitles = entries < 0
        entries += whole.length
        await io.write((isTitles && !isFirst ? whole.slice(1) : whole).join(''))
        const last = whole.at(-1)
        if (last !== undefined && entries > 0) cursor = readCursor(format, last)
      }
    } catch (error) {
      throw toCutOff(error, cursor)
    }
    total += Math.max(0, entries)
    if (entries < size) return
  }
}

/** Yields the whole lines of each chunk, with their line ends. Throws if the last line has no line end. */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf('\n') + 1
    if (end > 0) {
      const whole = rest + chunk.slice(0, end)
      yield whole.split(/(?<=\n)/)
      rest = ''
    }
    rest += chunk.slice(end)
  }
  if (rest !== '') throw new Error('the last line is incomplete')
}

/** Returns a line's cursor, which is the last column in both formats. */
function readCursor(format: 'csv' | 'jsonl', line: string): string {
  if (format === 'jsonl') return Line.parse(JSON.parse(line)).cursor
  return line.slice(line.lastIndexOf(',') + 1).trim()
}

function toCutOff(error: unknown, cursor: string | undefined): CommandError {
  const problem = error instanceof Error ? error.message : String(error)
  const advice = cursor === undefined ? 'start again' : `continue with --cursor ${cursor}`
  return new CommandError('unreachable', `The export was cut off (${problem}): ${advice}.`, { cause: error })
}
