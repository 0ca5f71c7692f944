import { expect, test } from 'vitest'
import { createLossWatch } from '#apps/billing/settlements/watch-losses.ts'
import { parseStreamId } from '#apps/billing/settlements/stream-id.ts'

type Look = { last: string | null; server?: string; incarnation?: string; lost?: boolean }

function judgeAll(...looks: Look[]) {
  const watch = createLossWatch()
  return looks.map(({ last, server = 'server-1', incarnation = 'a', lost = false }) =>
    watch.judge('chat', {
      server,
      incarnation,
      lost,
      stream: last === null ? null : { lastId: parseStreamId(last) },
    }),
  )
}

test('a stream that grows or rests has lost nothing', () => {
  expect(judgeAll({ last: null }, { last: '1-0' }, { last: '1-0' }, { last: '2-0' })).toEqual(
    Array.from({ length: 4 }, () => 'none'),
  )
})

test('another incarnation of the same server is a loss, whoever gave it', () => {
  expect(judgeAll({ last: '5-0' }, { last: '6-0', incarnation: 'b' })).toEqual(['none', 'lost'])
  expect(judgeAll({ last: '5-0', lost: true })).toEqual(['lost'])
})

test('a last id that went back, or a stream that is gone, is a loss that the incarnation does not show', () => {
  expect(judgeAll({ last: '5-1' }, { last: '5-0' })).toEqual(['none', 'went-back'])
  expect(judgeAll({ last: '5-1' }, { last: null })).toEqual(['none', 'went-back'])
})

test('a stream on another server, or on one that was promoted, is judged anew', () => {
  expect(judgeAll({ last: '5-0' }, { last: '3-0', server: 'server-2', incarnation: 'b' })).toEqual([
    'none',
    'none',
  ])
})
