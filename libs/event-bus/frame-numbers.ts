/** Records which numbers of a sequence that starts at 1 have arrived. */
export type FrameNumbers = {
  /** All numbers up to this one have arrived, or were given up. */
  contiguous(): number
  /** The highest number that is known to exist. */
  highest(): number
  /** True if this number has arrived or was given up. */
  has(number: number): boolean
  add(number: number): void
  /** Records that the numbers up to this one exist. */
  noteHighest(number: number): void
  /** Returns the first number that exists and has not arrived. */
  firstMissing(): number | null
  /** Records that numbers up to this one cannot come any more. */
  giveUp(upTo: number): void
}

type Range = { start: number; end: number }

/** The most remembered ranges. If there are more, the last range is dropped, so that its numbers count as missing. */
const MOST_RANGES = 1_024

export function createFrameNumbers(): FrameNumbers {
  let contiguous = 0
  let highest = 0
  /** The numbers that arrived above `contiguous`, ascending, with at least one missing number before each range. */
  let ranges: Range[] = []

  function absorb() {
    for (let first = ranges[0]; first !== undefined && first.start <= contiguous + 1; first = ranges[0]) {
      contiguous = Math.max(contiguous, first.end)
      ranges.shift()
    }
  }

  function insert(number: number) {
    let at = ranges.length
    while (at > 0 && (ranges[at - 1]?.start ?? 0) > number) at -= 1
    const before = ranges[at - 1]
    const behind = ranges[at]
    if (before !== undefined && number <= before.end) return
    const joinsBefore = before !== undefined && before.end === number - 1
    const joinsBehind = behind !== undefined && behind.start === number + 1
    if (joinsBefore && joinsBehind) {
      before.end = behind.end
      ranges.splice(at, 1)
    } else if (joinsBefore) before.end = number
    else if (joinsBehind) behind.start = number
    else {
      ranges.splice(at, 0, { start: number, end: number })
      if (ranges.length > MOST_RANGES) ranges.pop()
    }
  }

  return {
    contiguous: () => contiguous,
    highest: () => highest,
    has: (number) =>
      number <= contiguous || ranges.some(({ start, end }) => start <= number && number <= end),
    add(number) {
      highest = Math.max(highest, number)
      if (number <= contiguous) return
      if (number === contiguous + 1) {
        contiguous = number
        absorb()
      } else insert(number)
    },
    noteHighest(number) {
      highest = Math.max(highest, number)
    },
    firstMissing: () => (contiguous < highest ? contiguous + 1 : null),
    giveUp(upTo) {
      if (upTo <= contiguous) return
      contiguous = upTo
      highest = Math.max(highest, upTo)
      ranges = ranges.filter(({ end }) => end > upTo)
      absorb()
    },
  }
}
