/**
 * Returns the JSON text of a string or a plain object, on one line for every reader. JSON leaves three characters
 * unescaped that are line ends in Unicode. Some readers, such as Python's `splitlines`, would cut an event in two at
 * such a character, so these characters are escaped as well.
 */
export function toJson(value: string | object): string {
  const json = JSON.stringify(value)
  return LINE_ENDS.test(json) ? json.replaceAll(LINE_ENDS_ALL, toEscape) : json
}

const LINE_ENDS = /[\u0085\u2028\u2029]/
const LINE_ENDS_ALL = /[\u0085\u2028\u2029]/g

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
