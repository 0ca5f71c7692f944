/** This is longer than any id, field name or path of a well-meant request. */
const MOST_CHARACTERS = 200

/**
 * Shortens a caller's text for an error message, so that the answer is not as long as the body that it refuses. Never
 * cuts a character in two.
 */
export function shorten(words: string): string {
  return words.length <= MOST_CHARACTERS ? words : `${words.slice(0, MOST_CHARACTERS).toWellFormed()}…`
}
