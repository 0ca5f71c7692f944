import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/**
 * Returns the text of one token as vLLM's HTTP server reports it with log probabilities. A token is decoded by itself.
 * If the token ends within a character, its text is empty; the token that completes the character has the text of all
 * tokens of that character. `before` are the ids before the token, of which the last few are needed.
 */
export function toTokenText(
  tokenizer: Pick<Tokenizer, 'decode'>,
  id: number,
  before: readonly number[],
): string {
  const isPart = (text: string) => text.endsWith('\uFFFD')
  const text = tokenizer.decode([id])
  if (!isPart(text)) return text
  for (let from = before.length - 1; from >= 0; from -= 1) {
    const joined = tokenizer.decode([...before.slice(from), id])
    if (isPart(joined)) continue
    let parts = before.length
    while (parts > from && isPart(tokenizer.decode(before.slice(parts - 1, parts)))) parts -= 1
    const whole = tokenizer.decode(before.slice(from, parts))
    return joined.slice(commonLength(joined, whole))
  }
  return ''
}

/** Returns the length of the longest common beginning. */
function commonLength(one: string, other: string): number {
  let length = 0
  while (length < other.length && one[length] === other[length]) length += 1
  return length
}
