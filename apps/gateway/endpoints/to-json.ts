/**
 * JSON text of a string or a plain object. Three characters that JSON leaves as they are end a line for readers
 * that split Unicode's way (Python's `splitlines`), and would tear a frame: they are escaped as well.
 */
export function quote(value: string | object): string {
  const json = JSON.stringify(value)
  return LINE_ENDS.test(json) ? json.replaceAll(LINE_ENDS_ALL, toEscape) : json
}

const LINE_ENDS = /[\u0085\u2028\u2029]/
const LINE_ENDS_ALL = /[\u0085\u2028\u2029]/g

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
