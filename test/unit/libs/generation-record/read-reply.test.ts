import { describe, expect, test } from 'vitest'
import { readReply, toUnexpected } from '#libs/generation-record/read-reply.ts'

test('fields are read by their place after the status', () => {
  const { status, text, integer, number } = readReply(['waiting', '12.5', 3, ''])
  expect([status, text(0), number(0), integer(1), text(2)]).toEqual(['waiting', '12.5', 12.5, 3, ''])
})

describe('what is not of the form throws, and shows no content', () => {
  test.each([null, 'OK', 7, [], [7, 'x'], [['waiting']]])('no status: %j', (reply) => {
    expect(() => readReply(reply)).toThrow('a script answered')
  })

  test.each([[['s']], [['s', 7]], [['s', null]]])('no text: %j', (reply) => {
    expect(() => readReply(reply).text(0)).toThrow('a script answered "s"')
  })

  test.each([[['s']], [['s', '7']], [['s', 0.5]], [['s', 2 ** 60]]])('no integer: %j', (reply) => {
    expect(() => readReply(reply).integer(0)).toThrow('a script answered "s"')
  })

  test.each([[['s']], [['s', '']], [['s', 'x']], [['s', 7]], [['s', 'Infinity']]])(
    'no number: %j',
    (reply) => {
      expect(() => readReply(reply).number(0)).toThrow('a script answered "s"')
    },
  )

  test('only the types of the fields', () => {
    const { message } = toUnexpected(['claimed', 'a prompt', 3, null])
    expect(message).toBe('a script answered "claimed" with these fields: string, number, object')
  })
})
