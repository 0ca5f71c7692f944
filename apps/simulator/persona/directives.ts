/** An instruction to the simulator, in double brackets inside the last message of the user. */
export type Directive =
  /** `[[tokens=4000]]`: exactly that many tokens, then the end. */
  | { readonly kind: 'tokens'; readonly count: number }
  /** `[[raw=invalid-utf8]]`: words with invalid UTF-8 between them. */
  | { readonly kind: 'invalid-utf8' }

/** Returns the first directive in a message, or null. Anything else in double brackets is text. */
export function parseDirective(text: string): Directive | null {
  const match = /\[\[(?:tokens=(\d{1,7})|raw=invalid-utf8)\]\]/u.exec(text)
  if (match === null) return null
  return match[1] === undefined ? { kind: 'invalid-utf8' } : { kind: 'tokens', count: Number(match[1]) }
}
