import type { ChatMessage } from '#libs/contracts/generation-request.ts'

/** A call of a message; `result` is the index of its result among the messages, or null while none is found. */
type Slot = { readonly id: string; result: number | null }

/**
 * Returns a conversation in which the results of a message's calls directly follow the message, in the order of its
 * calls, and have the ids of their calls. Callers may send results in any order, but many templates print no ids, so
 * that a model knows the call of a result by its place alone. A result belongs to the first of these calls that has no
 * result yet:
 * 1. A call with the result's id in the latest message before the result that has such a call.
 * 2. A call with the result's id in the next message behind the result that has such a call.
 * 3. For a result without an id, a call of the last message of the assistant before the result. This also applies to a
 *    result with an id that no call has, unless a message of a user is between the two.
 *
 * An empty id is no id. A result that belongs to no call keeps its place among the other messages. No two calls have the
 * same id afterwards, because some templates print only the first result of an id: a missing or repeated id is replaced.
 * Takes linear time. Pairing a conversation again changes nothing.
 */
export function pairResults(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const turns = messages.map((message) =>
    message.role === 'assistant' ? message.toolCalls.map(({ id }): Slot => ({ id, result: null })) : [],
  )
  const paired = new Set<number>()
  const pair = (slot: Slot | undefined, result: number) => {
    if (slot === undefined) return
    slot.result = result
    paired.add(result)
  }

  const before = new Map<string, Slot[]>()
  for (const [at, message] of messages.entries()) {
    for (const [id, slots] of byId(turns[at])) before.set(id, slots.toReversed())
    if (message.role === 'tool') pair(before.get(message.toolCallId)?.pop(), at)
  }

  const behind = new Map<string, Slot[]>()
  for (const [at, message] of [...messages.entries()].toReversed()) {
    for (const [id, slots] of byId(turns[at])) behind.set(id, slots)
    if (message.role === 'tool' && !paired.has(at)) pair(behind.get(message.toolCallId)?.pop(), at)
  }

  let open: Slot[] = []
  let isDirect = false
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant') open = freeSlots(turns[at]).toReversed()
    if (message.role === 'assistant' || message.role === 'user') isDirect = message.role === 'assistant'
    if (message.role !== 'tool' || paired.has(at)) continue
    const { toolCallId: id } = message
    if (id === '' || (isDirect && !before.has(id) && !behind.has(id))) pair(open.pop(), at)
  }

  const toOwnId = createOwnIds()
  return messages.flatMap((message, at): ChatMessage[] => {
    if (paired.has(at)) return []
    if (message.role !== 'assistant') return [message]
    const toolCalls = message.toolCalls.map((call) => ({ ...call, id: toOwnId(call.id) }))
    const results = toolCalls.flatMap(({ id }, place) => {
      const result = messages[turns[at]?.[place]?.result ?? -1]
      return result?.role === 'tool' ? [{ ...result, toolCallId: id }] : []
    })
    return [{ ...message, toolCalls }, ...results]
  })
}

/** Returns the calls of a message that have an id and no result, by id. */
function byId(turn: readonly Slot[] | undefined): Map<string, Slot[]> {
  return Map.groupBy(
    freeSlots(turn).filter(({ id }) => id !== ''),
    ({ id }) => id,
  )
}

const freeSlots = (turn: readonly Slot[] = []): Slot[] => turn.filter(({ result }) => result === null)

/** Returns a function that returns ids unchanged, but replaces an empty id and an id that it has returned before. */
function createOwnIds(): (id: string) => string {
  const taken = new Set<string>()
  let replaced = 0
  return (id) => {
    let own = id
    while (own === '' || taken.has(own)) {
      replaced += 1
      own = `${id === '' ? 'call' : id}_${replaced}`
    }
    taken.add(own)
    return own
  }
}
