import type { TokenLogprob } from '#libs/contracts/generation-event.ts'

/**
 * Finds the tokens of an output's text among all of its tokens, for answers that report log probabilities of text alone.
 * Tokens arrive before the output that they complete. A token belongs to a delta of text if the delta shows a part of
 * it that no earlier delta has shown. The tokens of reasoning, of calls, of tags around them and of the end belong to no
 * text.
 */
export class TextLogprobs {
  /** The tokens after the last one that was returned or dropped. */
  #pending: TokenLogprob[] = []
  /** The end of the last returned token that no delta has shown yet: the parser buffers what may begin a tag. */
  #rest = ''

  push(tokens: readonly TokenLogprob[]): void {
    for (const token of tokens) this.#pending.push(token)
  }

  /** Drops the tokens of output that is not text. */
  drop(): void {
    this.#pending = []
    this.#rest = ''
  }

  /**
   * Returns the tokens of a delta. `begins` is true for the first delta of a text: then the tokens before it may be
   * tags, even tags that contain the delta. If the delta is not found in the tokens, all of them are returned: their
   * texts differ from the output where bytes are not UTF-8.
   */
  take(delta: string, { begins }: { begins: boolean }): readonly TokenLogprob[] {
    const pending = this.#pending
    const arrived = this.#rest + pending.map(({ token }) => token).join('')
    // Some tokenizers decode a token without the space before it.
    const shown = arrived.includes(delta) ? delta : delta.trimStart()
    if (shown === '' || !arrived.includes(shown)) {
      this.drop()
      return pending
    }
    const from = begins ? findBeginning(arrived, shown) : arrived.indexOf(shown)
    const to = from + shown.length
    const taken: TokenLogprob[] = []
    /** A token, after the empty tokens that are the beginning of its first character. */
    let character: TokenLogprob[] = []
    let seen = this.#rest.length
    let read = 0
    for (const entry of pending) {
      if (seen >= to) break
      read += 1
      character.push(entry)
      if (entry.token === '') continue
      seen += entry.token.length
      if (seen > from) taken.push(...character)
      character = []
    }
    this.#pending = pending.slice(read)
    this.#rest = arrived.slice(to, seen)
    return taken
  }
}

/**
 * Returns where a text begins whose first delta is `shown`, which is not empty: at its last occurrence, because tags may
 * contain it too. If it is repeated without a gap, the text begins with the first repetition, and the others are
 * buffered text, which may begin a stop string.
 */
function findBeginning(arrived: string, shown: string): number {
  let from = arrived.lastIndexOf(shown)
  while (from >= shown.length && arrived.startsWith(shown, from - shown.length)) {
    from -= shown.length
  }
  return from
}
