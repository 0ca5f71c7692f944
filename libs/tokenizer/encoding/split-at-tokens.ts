import type { TokenizerFile } from '../tokenizer-file.ts'

/** A part of a text: an added token, or a text between two of them. */
export type Section =
  | { readonly type: 'token'; readonly id: number }
  | { readonly type: 'text'; readonly text: string }

/**
 * Splits a well-formed text at the added tokens that the tokenizer finds before it normalizes the text. The tokenizer
 * itself begins with the same split, so the ids of the sections, encoded independently, are the ids of the whole text.
 * As in the native library, the leftmost token is taken; if several tokens begin at one place, the longest of them is
 * taken.
 *
 * The text is not split at some added tokens, which stay within a section of text:
 * - a token that strips the blanks around it, because these blanks would be in the neighbouring sections
 * - a token that begins or ends with a blank, such as the runs of newlines in some vocabularies, because each line of a
 *   text would become a section
 *
 * If any added token is only recognized as a separate word, texts are not split at all, because the character before
 * the token matters.
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
