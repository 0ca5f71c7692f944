import { expect, test } from 'vitest'
import { createRequestBook } from '#apps/gateway/reports/request-book.ts'
import { quantileMs } from '#libs/event-bus/time-buckets.ts'

const USAGE = { promptTokens: 30, completionTokens: 11 }

function setUp() {
  const clock = { nowMs: 0 }
  const book = createRequestBook({ nowMs: () => clock.nowMs })
  const open = (id: string, accountId = 'acme') =>
    book.open({ id, accountId, model: 'chat', receivedMs: clock.nowMs })
  return { clock, book, open, ids: () => [...book.openRequests()].map((entry) => entry.id) }
}

test('a request goes from admission to its end, with the times of its steps', () => {
  const { clock, book, open } = setUp()
  const request = open('r1')
  clock.nowMs = 10
  request.admitted({ ahead: null, tokens: () => 4 })
  expect([...book.openRequests()][0]).toMatchObject({ stage: 'waiting', admittedMs: 10 })
  clock.nowMs = 1_010
  request.claimed({})
  request.claimed({})
  clock.nowMs = 2_000
  request.output()
  request.output()
  expect([...book.openRequests()][0]?.tokens()).toBe(4)
  clock.nowMs = 3_000
  request.ended({ code: null, usage: USAGE })
  expect([...book.openRequests()]).toEqual([])
  const { queueMs, firstTokenMs, ...counts } = book.counts('chat')
  expect(counts).toMatchObject({ asked: 1 })
  expect(quantileMs(queueMs, 0.5)).toBe(1_024)
  expect(quantileMs(firstTokenMs, 0.5)).toBe(2_048)
  expect(book.lastEnded()).toMatchObject([{ id: 'r1', claimedMs: 1_010, outputMs: 2_000, endedMs: 3_000 }])
})

test('an ended request keeps nothing of its stream alive', () => {
  const { book, open } = setUp()
  const request = open('r1')
  request.admitted({ ahead: null, tokens: () => 4 })
  request.ended({ code: null, usage: null })
  expect(book.lastEnded()[0]?.tokens()).toBe(0)
})

test('a tenant has what waits, runs and was refused, and is forgotten a minute after its last request', () => {
  const { clock, book, open } = setUp()
  const [first, second] = [open('r1'), open('r2')]
  first.admitted({ ahead: null, tokens: () => 0 })
  second.admitted({ ahead: null, tokens: () => 0 })
  second.claimed({})
  open('r3').ended({ code: 'model_busy', usage: null })
  expect(book.tenants()).toMatchObject([{ accountId: 'acme', waiting: 1, running: 1, refused: 1 }])
  first.ended({ code: 'upstream_error', usage: null })
  second.ended({ code: null, usage: USAGE })
  expect(book.tenants()).toMatchObject([{ waiting: 0, running: 0, refused: 1 }])
  clock.nowMs = 60_001
  expect(book.tenants()).toEqual([])
})

test('the last 2,000 are kept, in their order, and each is taken once', () => {
  const { book, open } = setUp()
  for (let number = 1; number <= 2_001; number += 1) open(`r${number}`).ended({ code: null, usage: USAGE })
  const { count, kept } = book.takeEnded()
  expect([count, kept.length, kept[0]?.id, kept.at(-1)?.id]).toEqual([2_001, 2_000, 'r2', 'r2001'])
  open('r2002').ended({ code: null, usage: null })
  expect(book.takeEnded()).toMatchObject({ count: 1, kept: [{ id: 'r2002' }] })
  expect(book.takeEnded()).toEqual({ count: 0, kept: [] })
  expect(book.lastEnded()).toHaveLength(2_000)
})
