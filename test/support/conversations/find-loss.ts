import type { RandomConversation } from './random-conversation.ts'

/**
 * Returns what a prompt lacks of its conversation, or null if it lacks nothing. A part is lacking if it is missing,
 * occurs twice, or is in another order. Parts are texts, names, arguments' values, results and instructions. A result
 * may also follow its own call directly. Instructions before all messages may be anywhere, because some templates print
 * them in front of the last user message.
 */
export function findLoss(conversation: RandomConversation, prompt: string): string | null {
  const { words, pairedWords, leading, names } = conversation
  const all = [...leading, ...words]
  const count = (word: string): number => prompt.split(word).length - 1
  const lost = [...all, ...names].filter((word) => count(word) === 0)
  if (lost.length > 0) return `${lost.join(' ')} is lost`
  const doubled = all.filter((word) => count(word) > 1)
  if (doubled.length > 0) return `${doubled.join(' ')} is there twice`
  const isOrdered = (list: readonly string[]): boolean =>
    list.every((word, i) => prompt.indexOf(word) >= prompt.indexOf(list[i - 1] ?? word))
  return isOrdered(words) || isOrdered(pairedWords) ? null : 'the order is another one'
}
