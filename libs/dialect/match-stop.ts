export type StopMatcher = {
  /**
   * Adds `text`, and returns the buffered and new characters that can no longer be part of a stop string. A stop string
   * whose last character is in `text` counts only if `mayStop` is true.
   */
  readonly push: (text: string, mayStop?: boolean) => string
  /** Returns the stop string that was found, or null. Once one is found, `push` returns no text. */
  readonly matched: () => string | null
  /**
   * Returns the buffered text and starts over. Must be called before any output that is not text, because a stop string
   * does not continue after such output.
   */
  readonly flush: () => string
}

/**
 * Finds the stop string that ends first; if several end at the same character, the longest of them. Buffers only the
 * longest suffix of the text that may be the beginning of a stop string. Each stop string is a Knuth-Morris-Pratt
 * automaton, which takes one step per character. So the result does not depend on how the text is cut, and no stop
 * string makes the matcher slow.
 */
export function createStopMatcher(stops: readonly string[]): StopMatcher {
  // The longest comes first: of several stop strings that end at one character, the first in this order wins.
  const sorted = stops.filter((stop) => stop !== '').sort((a, b) => b.length - a.length)
  const automata = sorted.map((stop) => ({ stop, borders: toBorders(stop), state: 0 }))
  let buffered = ''
  let matched: string | null = null

  return {
    push(text, mayStop = true) {
      if (matched !== null) return ''
      if (automata.length === 0) return text
      const all = buffered + text
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i)
        for (const automaton of automata) {
          const { stop, borders } = automaton
          let state = automaton.state
          while (state > 0 && stop.charCodeAt(state) !== unit) state = borders[state - 1] ?? 0
          if (stop.charCodeAt(state) === unit) state += 1
          // A stop string that ends while `mayStop` is false does not count. Its end may still be the beginning of a
          // later stop string.
          if (state === stop.length && !mayStop) state = borders[state - 1] ?? 0
          automaton.state = state
          if (state === stop.length) {
            matched = stop
            const end = buffered.length + i + 1
            buffered = ''
            return all.slice(0, end - stop.length)
          }
        }
      }
      let length = 0
      for (const { state } of automata) if (state > length) length = state
      buffered = length === 0 ? '' : all.slice(all.length - length)
      return length === 0 ? all : all.slice(0, all.length - length)
    },
    matched: () => matched,
    flush() {
      const text = buffered
      buffered = ''
      for (const automaton of automata) automaton.state = 0
      return text
    },
  }
}

/** Returns, for each prefix of `stop`, the length of its longest proper suffix that is a prefix of `stop` too. */
function toBorders(stop: string): Uint32Array {
  const borders = new Uint32Array(stop.length)
  let length = 0
  for (let i = 1; i < stop.length; i++) {
    while (length > 0 && stop.charCodeAt(i) !== stop.charCodeAt(length)) length = borders[length - 1] ?? 0
    if (stop.charCodeAt(i) === stop.charCodeAt(length)) length += 1
    borders[i] = length
  }
  return borders
}
