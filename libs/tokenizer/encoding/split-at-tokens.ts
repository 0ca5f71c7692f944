import type { TokenizerFile } from '../tokenizer-file.ts'

/** A part of a text: an added token, or a text between two of them. */
export type Section =
  | { readonly type: 'token'; readonly id: number }
  | { readonly type: 'text'; readonly text: string }

/**
 * Splits a well-formed text where its tokenizer splits it before anything else: at the added tokens that the tokenizer
 * takes from the text as written. So the sections, encoded independently, have the ids of the whole. As in the library,
 * the leftmost token counts, and of several tokens at one place the longest.
 *
 * No cut is made at a token that strips the blanks around it, because the blanks belong to two sections. No cut is made
 * at a token that begins or ends with a blank, such as the runs of newlines in some vocabularies, because then each
 * line would be a section. If a token must be a word of its own, the character before it counts, so the text is not cut
 * at all.
 */
export function createSplitter({ addedTokens }: TokenizerFile): (text: string) => Section[] {
  const taken = addedTokens.filter((token) => !token.normalized && token.content !== '')
  const cutIds = new Map(
    taken
      .filter(({ content, lstrip, rstrip }) => !lstrip && !rstrip && content.trim() === content)
      .map(({ content, id }) => [content, id]),
  )
  if (cutIds.size === 0 || addedTokens.some((token) => token.single_word))
    return (text) => [{ type: 'text', text }]
  const longestFirst = taken.map((token) => token.content).toSorted((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map((content) => RegExp.escape(content)).join('|'), 'gu')

  return (text) => {
    const sections: Section[] = []
    let from = 0
    const cutText = (to: number) => {
      if (to > from) sections.push({ type: 'text', text: text.slice(from, to) })
    }
    for (const { 0: content, index } of text.matchAll(pattern)) {
      const id = cutIds.get(content)
      if (id === undefined) continue
      cutText(index)
      sections.push({ type: 'token', id })
      from = index + content.length
    }
    cutText(text.length)
    return sections
  }
}
