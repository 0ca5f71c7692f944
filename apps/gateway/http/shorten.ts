/** Long enough for every id, name and path that callers mean. */
const MOST_CHARACTERS = 200

/**
 * A caller's own words, as an error quotes them: an answer is never as long as the body that it refuses, and never
 * ends in half a character.
 */
export function shorten(words: string): string {
  return words.length <= MOST_CHARACTERS ? words : `${words.slice(0, MOST_CHARACTERS).toWellFormed()}…`
}
