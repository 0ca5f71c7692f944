export type StopMatcher = {
  /**
   * Takes the next token, and returns the stop string that it completes; null if it completes none, and null while
   * `mayStop` is false. If it completes several, returns the first of them in `stops`.
   */
  push(id: number, mayStop: boolean): string | null
}

/**
 * Finds stop strings in the text of a growing list of ids. Only a match that reaches into the newest token's
 * text counts, so that a match before `min_tokens` is not reported later.
 */
export function createStopMatcher(options: {
  stops: readonly string[]
  decode: (ids: ArrayLike<number>) => string
  /** True for tokens that are left out of the text. */
  skips: (id: number) => boolean
}): StopMatcher {
  const { stops, decode, skips } = options
  const longest = Math.max(...stops.map((stop) => stop.length))
  // A character takes at most four tokens (one for each byte), so this window covers any stop string.
  const window = longest * 4 + 4
  let ids: number[] = []

  return {
    push(id, mayStop) {
      if (skips(id)) return null
      const before = withoutBrokenEnd(decode(ids))
      ids.push(id)
      if (ids.length > window) ids = ids.slice(-window)
      if (!mayStop) return null
      const text = decode(ids)
      return stops.find((stop) => text.includes(stop, startOfNews(text, before) - stop.length + 1)) ?? null
    },
  }
}

/**
 * Returns the index in `text` at which the newest token's text begins. `before` is the text of the list of ids before
 * the list got the newest id. `before` may begin earlier than `text`: if the list was full, its first id was dropped
 * when the newest id was added.
 */
function startOfNews(text: string, before: string): number {
  for (let cut = 0; cut <= before.length; cut++) {
    if (text.startsWith(before.slice(cut))) return before.length - cut
  }
  return 0
}

function withoutBrokenEnd(text: string): string {
  return text.replace(/\uFFFD+$/u, '')
}
