import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  createMessageSplitter,
  FramingError,
  toFramed,
} from '#apps/worker/engine/transport/message-splitter.ts'
import { framed, split } from './raw-server.ts'

function readAll(pieces: readonly Buffer[], maxBytes = 1_000): { messages: Buffer[]; between: boolean } {
  const splitter = createMessageSplitter(maxBytes)
  const messages: Buffer[] = []
  for (const piece of pieces) splitter.push(piece, (message) => messages.push(Buffer.from(message)))
  return { messages, between: splitter.isBetweenMessages() }
}

it('finds the same messages wherever the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 8 }),
      fc.array(fc.nat(400), { maxLength: 40 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.map(framed))
        expect(bytes).toEqual(Buffer.concat(messages.map((each) => toFramed(Buffer.from(each), 1_000))))
        expect(readAll(split(bytes, cuts))).toEqual({
          messages: messages.map((each) => Buffer.from(each)),
          between: true,
        })
      },
    ),
    { numRuns: 1_000 },
  )
})

it('knows at every cut whether a message is unfinished', () => {
  const bytes = Buffer.concat([framed(Buffer.from('ab')), framed(Buffer.alloc(0))])
  const between = Array.from(bytes, (_, i) => readAll([bytes.subarray(0, i)]).between)
  expect(between.flatMap((is, i) => (is ? [i] : []))).toEqual([0, 7])
  expect(readAll([bytes]).between).toBe(true)
})

it('refuses a message over the limit by its prefix alone, and a compressed one', () => {
  expect(readAll([framed(Buffer.alloc(1_000))]).messages).toHaveLength(1)
  expect(() => readAll([framed(Buffer.alloc(1_001)).subarray(0, 5)])).toThrow(FramingError)
  expect(() => readAll([Buffer.of(1, 0, 0, 0, 0)])).toThrow(/compressed/)
  expect(() => toFramed(Buffer.alloc(11), 10)).toThrow(/11 bytes/)
})

it('copies a large message once, however many pieces it comes in', () => {
  const splitter = createMessageSplitter(10_000_000)
  const bytes = framed(Buffer.alloc(5_000_000, 7))
  let copied = 0
  const { concat } = Buffer
  Buffer.concat = (list, length) => {
    copied += length ?? 0
    return concat(list, length)
  }
  try {
    for (let at = 0; at < bytes.length; at += 1_000) splitter.push(bytes.subarray(at, at + 1_000), () => {})
  } finally {
    Buffer.concat = concat
  }
  expect(copied).toBe(bytes.length)
})
