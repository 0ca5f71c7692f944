/** Returns the JSON text of a string or a plain object, on one line for every reader. */
export function toJson(value: string | object): string {
  return toOneLine(JSON.stringify(value))
}

/**
 * Returns a JSON text on one line for every reader. JSON leaves three characters unescaped that are line ends in Unicode.
 * Some readers, such as Python's `splitlines`, would cut an event in two at such a character, so these characters are
 * escaped. Line breaks between the values of a caller's text become blanks.
 */
export function toOneLine(json: string): string {
  return LINE_ENDS.test(json) ? json.replaceAll(BREAKS, ' ').replaceAll(LINE_ENDS_ALL, toEscape) : json
}

const LINE_ENDS = /[\r\n\u0085\u2028\u2029]/
const BREAKS = /[\r\n]\s*/g
const LINE_ENDS_ALL = /[\u0085\u2028\u2029]/g

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
