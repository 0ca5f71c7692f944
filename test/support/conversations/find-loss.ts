import type { RandomConversation } from './random-conversation.ts'

/**
 * Returns a sentence about the parts of a conversation that a prompt lacks, repeats or has in another order; null if
 * there are none. Parts are texts, arguments' values, results, instructions and the names of tools. These are the
 * rules:
 * - The name of each tool is in the prompt at least once, at any place.
 * - Every other part is in the prompt exactly once.
 * - The parts are in one of two orders: either in the order of the conversation, or in an order in which each result
 *   directly follows its own call.
 * - Instructions before all messages may be at any place, because some templates print them in front of the last user
 *   message.
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
