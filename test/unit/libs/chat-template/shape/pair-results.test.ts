import { expect, it } from 'vitest'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { pairResults } from '#libs/chat-template/shape/pair-results.ts'

/**
 * Reads a conversation from words: `u` and `s` are messages of a user and a system, `a` of an assistant, `+1+2` one with
 * the calls 1 and 2, `1:x` the result x with the id 1, and `:x` a result without an id.
 */
const read = (words: string): ChatMessage[] =>
  words.split(' ').map((word): ChatMessage => {
    const [id = '', content] = word.split(':')
    if (content !== undefined) return { role: 'tool', toolCallId: id, content }
    if (word === 'u') return { role: 'user', content: '' }
    if (word === 's') return { role: 'system', content: '' }
    const ids = word.startsWith('+') ? word.slice(1).split('+') : []
    const toolCalls = ids.map((one) => ({ id: one, name: 'f', arguments: '' }))
    return { role: 'assistant', content: '', reasoning: '', toolCalls }
  })

it.each([
  ['in another order', 'u +1+2+3 3:c 1:a 2:b u', 'u +1+2+3 1:a 2:b 3:c u'],
  ['behind a message of a user or a system', 'u +1+2 2:b u s 1:a', 'u +1+2 1:a 2:b u s'],
  ['behind a later answer', 'u +1 u a u 1:a', 'u +1 1:a u a u'],
  ['before their call', 'u 2:b 1:a +1+2', 'u +1+2 1:a 2:b'],
  ['between the calls of two messages', '+1 2:b +2 1:a', '+1 1:a +2 2:b'],
  ['of two messages in a row', '+1 +2 1:a 2:b', '+1 1:a +2 2:b'],
  ['without ids', '++ :a :b u', '+call_1+call_2 call_1:a call_2:b u'],
  ['without ids, of calls with ids', '+1+2 :a u :b', '+1+2 1:a 2:b u'],
  ['of which one has no id', '+1+2+3 2:b :a :c', '+1+2+3 1:a 2:b 3:c'],
  ['of which one has an unknown id', '+1+2 2:b x:a', '+1+2 1:a 2:b'],
  ['whose calls have the same id', '+1+1 1:a 1:b', '+1+1_1 1:a 1_1:b'],
  ['of calls without a second result', '+1+2+3 3:c', '+1+2+3 3:c'],
  ['of an id that each turn uses again', '+1 1:a u +1+2 2:c 1:b', '+1 1:a u +1_1+2 1_1:b 2:c'],
  ['of a call whose id an unanswered call had', '+1 u +1 1:a', '+1 u +1_1 1_1:a'],
  ['of no call, behind others', '+1+2 2:b x:x 1:a u', '+1+2 1:a 2:b x:x u'],
  ['of no call, behind a user', 'u +1 u x:x u', 'u +1 u x:x u'],
  ['of no call, at the beginning', 'x:x u a :y :z', 'x:x u a :y :z'],
  ['of another call, a second time', '+1+2 1:a 1:b s', '+1+2 1:a 1:b s'],
  ['a second time', '+1 1:a u 1:b', '+1 1:a u 1:b'],
])('results %s', (_, sent, expected) => {
  expect(pairResults(read(sent))).toEqual(read(expected))
  expect(pairResults(read(expected))).toEqual(read(expected))
})

it.each(['1', '', 'own'])('pairs many calls with the id %j in linear time', (id) => {
  const ids = Array.from({ length: 20_000 }, (_, place) => (id === 'own' ? `1_${place}` : id))
  const all = [...ids, ...ids.map(() => (id === 'own' ? '1' : id))]
  const paired = pairResults(
    read(`${all.map((one) => `+${one}`).join('')} ${all.map((one) => `${one}:a`).join(' ')}`),
  )
  expect(new Set(paired.flatMap((message) => (message.role === 'tool' ? message.toolCallId : []))).size).toBe(
    40_000,
  )
})
