import type { RandomConversation } from './random-conversation.ts'

/**
 * What a prompt lacks of its conversation: a text, a name, an argument's value, a result or an instruction that is not in
 * it, or is in it twice, or in another order. null: nothing. A result may stand behind its own call; instructions before
 * all messages, which some templates print in front of the last user message, may be anywhere.
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
