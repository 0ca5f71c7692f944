export type JsonScanner = {
  /**
   * Reads an object or a list, in one call or several. In the first call, the character at `from` must be its opening
   * bracket. Returns the index at which the reading ends: after the last bracket, at a character `stopUnit` outside of
   * strings, or at the end of the text.
   */
  readonly scan: (text: string, from: number, stopUnit: number) => number
  readonly isOver: () => boolean
}

/** Finds the end of nested JSON by counting brackets outside of strings. Reads each character once and keeps none. */
export function createJsonScanner(): JsonScanner {
  let depth = 0
  let inString = false
  let escaped = false
  let over = false

  function scan(text: string, from: number, stopUnit: number): number {
    for (let at = from; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (inString) {
        if (escaped) escaped = false
        else if (unit === BACKSLASH) escaped = true
        else if (unit === QUOTE) inString = false
      } else if (unit === QUOTE) {
        inString = true
      } else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
        depth += 1
      } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) {
        depth -= 1
        if (depth > 0) continue
        over = true
        return at + 1
      } else if (unit === stopUnit) {
        return at
      }
    }
    return text.length
  }

  return { scan, isOver: () => over }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d]
const [OPEN_BRACKET, CLOSE_BRACKET] = [0x5b, 0x5d]
