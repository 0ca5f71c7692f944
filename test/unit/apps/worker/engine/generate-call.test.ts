import { expect, test } from 'vitest'
import type { ChunkMessage, CompleteMessage } from '#apps/worker/engine/decode-chunk.ts'
import { EngineError } from '#apps/worker/engine/engine-error.ts'
import type { CheckedCall } from '#apps/worker/engine/find-gap.ts'
import { runGenerate } from '#apps/worker/engine/generate-call.ts'
import { cancelled, type CallFailure } from '#apps/worker/engine/transport/call-failure.ts'

const chunk = (...ids: number[]): ChunkMessage => ({
  type: 'chunk',
  ids,
  promptTokens: 2,
  completionTokens: ids.length,
  cachedTokens: 1,
})

const COMPLETE: CompleteMessage = {
  type: 'complete',
  finishReason: 'stop',
  promptTokens: 2,
  completionTokens: 0,
  cachedTokens: 1,
  matchedTokenId: null,
  matchedStop: null,
}

/**
 * Starts a call whose messages a test gives. `log` lists the returned tokens and the calls of `cancel` and
 * `onAbandoned`.
 */
function start(given: {
  asks?: Partial<CheckedCall['request']>
  onTokens?: (leaving: AbortController) => boolean
  toError?: (failure: CallFailure, hasTokens: boolean) => Promise<EngineError>
}) {
  const log: unknown[] = []
  const leaving = new AbortController()
  let onMessage = (_message: ChunkMessage | CompleteMessage) => {}
  let onEnd = (_failure: CallFailure | null) => {}
  const generated = runGenerate(
    (listener) => {
      ;({ onMessage, onEnd } = listener)
      return { pause() {}, resume() {}, cancel: () => log.push('cancel') }
    },
    {
      signal: leaving.signal,
      onTokens(tokens) {
        log.push([...tokens.ids])
        return given.onTokens?.(leaving) ?? true
      },
      onAbandoned: () => log.push('abandoned'),
      checked: {
        request: { promptIds: Uint32Array.of(1, 2), maxTokens: 4, ...given.asks },
        limits: { maxContextLength: 8, vocabularySize: 100 },
      },
      toError: given.toError ?? (async (_, hasTokens) => new EngineError('failed', `tokens: ${hasTokens}`)),
    },
  )
  return { log, leaving, generated, onMessage, onEnd }
}

const wantsNoMore = { onTokens: () => false }

const throws = {
  onTokens() {
    throw new Error('not parsed')
  },
}

test('messages that arrive together are passed on together, later ones by themselves', async () => {
  const { log, generated, onMessage } = start({})
  onMessage(chunk(1))
  onMessage(chunk(2, 3))
  expect(log).toEqual([])
  await Promise.resolve()
  expect(log).toEqual([[1, 2, 3]])
  onMessage(chunk(4))
  await Promise.resolve()
  expect(log).toEqual([[1, 2, 3], [4]])
  onMessage(COMPLETE)
  expect(await generated).toMatchObject({ finishReason: 'stop', completionTokens: 4 })
})

test('the last tokens come before the end that arrives with them, also before a failure', async () => {
  const ended = start({})
  ended.onMessage(chunk(1))
  ended.onMessage(COMPLETE)
  expect(ended.log).toEqual([[1]])
  expect(await ended.generated).toMatchObject({ completionTokens: 1 })

  const failed = start({})
  failed.onMessage(chunk(1))
  failed.onEnd(cancelled())
  expect(failed.log).toEqual([[1]])
  await expect(failed.generated).rejects.toThrow('tokens: true')
})

test('messages without tokens are not passed on', async () => {
  const { log, generated, onMessage, onEnd } = start({})
  onMessage(chunk())
  onEnd(null)
  await expect(generated).rejects.toThrow('closed the stream')
  expect(log).toEqual([])
})

test('a consumer that wants no more ends it, and what comes then is not passed on', async () => {
  const { log, leaving, generated, onMessage, onEnd } = start(wantsNoMore)
  onMessage(chunk(1))
  expect(await generated).toBeNull()
  onMessage(chunk(2))
  onMessage(COMPLETE)
  onEnd(cancelled())
  leaving.abort()
  await Promise.resolve()
  expect(log).toEqual([[1], 'cancel', 'abandoned'])
})

test('a call that is complete is not cancelled, although its consumer wanted no more', async () => {
  const { log, generated, onMessage } = start(wantsNoMore)
  onMessage(chunk(1))
  onMessage(COMPLETE)
  expect(await generated).toMatchObject({ finishReason: 'stop' })
  expect(log).toEqual([[1]])
})

test('a failure that comes with the last wanted tokens is ignored', async () => {
  const { log, generated, onMessage, onEnd } = start(wantsNoMore)
  onMessage(chunk(1))
  onEnd(cancelled())
  expect(await generated).toBeNull()
  expect(log).toEqual([[1]])
})

test('a signal that is aborted ends it, and tokens that were not passed on yet are dropped', async () => {
  const { log, leaving, generated, onMessage } = start({})
  onMessage(chunk(1))
  leaving.abort()
  expect(await generated).toBeNull()
  expect(log).toEqual(['cancel', 'abandoned'])
})

test('a signal that is aborted does not wait until a failure is known', async () => {
  const unknown = Promise.withResolvers<EngineError>()
  const { log, leaving, generated, onMessage, onEnd } = start({ toError: async () => await unknown.promise })
  onMessage(chunk(1))
  onEnd(cancelled())
  leaving.abort()
  expect(await generated).toBeNull()
  unknown.resolve(new EngineError('dead', 'known too late'))
  expect(log).toEqual([[1], 'cancel', 'abandoned'])
})

test('an error of `toError` itself rejects the call', async () => {
  const toError = async () => await Promise.reject(new Error('no health'))
  const { generated, onEnd } = start({ toError })
  onEnd(cancelled())
  await expect(generated).rejects.toThrow('no health')
})

test('a signal that is aborted by the last tokens replaces a failure, but not the end', async () => {
  const leaves = {
    onTokens(leaving: AbortController) {
      leaving.abort()
      return true
    },
  }
  const ended = start(leaves)
  ended.onMessage(chunk(1))
  ended.onMessage(COMPLETE)
  expect(await ended.generated).toMatchObject({ finishReason: 'stop' })
  expect(ended.log).toEqual([[1]])

  const failed = start(leaves)
  failed.onMessage(chunk(1))
  failed.onEnd(cancelled())
  expect(await failed.generated).toBeNull()
  expect(failed.log).toEqual([[1], 'cancel', 'abandoned'])
})

test('a consumer that throws cancels the call, which rejects with its error', async () => {
  const { log, generated, onMessage } = start(throws)
  onMessage(chunk(1))
  await expect(generated).rejects.toThrow('not parsed')
  onMessage(chunk(2))
  await Promise.resolve()
  expect(log).toEqual([[1], 'cancel', 'abandoned'])
})

test('an error of the consumer replaces the end or the failure that arrives with it', async () => {
  const ended = start(throws)
  ended.onMessage(chunk(1))
  ended.onMessage(COMPLETE)
  await expect(ended.generated).rejects.toThrow('not parsed')

  const failed = start(throws)
  failed.onMessage(chunk(1))
  failed.onEnd(cancelled())
  await expect(failed.generated).rejects.toThrow('not parsed')
})

const GAPS: readonly (readonly [
  string,
  { asks?: Partial<CheckedCall['request']>; before: ChunkMessage[]; after: ChunkMessage },
])[] = [
  ['a count of the call that is ahead', { before: [chunk(1)], after: { ...chunk(3), completionTokens: 3 } }],
  ['a count of a chunk with more ids', { before: [], after: { ...chunk(2), completionTokens: 2 } }],
  ['a first chunk that does not know its prompt', { before: [], after: { ...chunk(1), promptTokens: 0 } }],
  ['no log probabilities of the prompt', { asks: { promptLogprobs: 1 }, before: [], after: chunk(1) }],
  ['no log probabilities of a token', { asks: { topLogprobs: 0 }, before: [], after: chunk(1) }],
]

test.each(GAPS)('%s is a gap: nothing after it is passed on', async (_, { asks = {}, before, after }) => {
  const { log, generated, onMessage } = start({ asks })
  for (const message of before) onMessage(message)
  onMessage(after)
  onMessage(chunk(9))
  onMessage(COMPLETE)
  await expect(generated).rejects.toMatchObject({ kind: 'gap', quotesRequest: false })
  expect(log).toEqual([...before.map(({ ids }) => ids), 'cancel', 'abandoned'])
})

test('a count of the call so far, as the servicer in Rust reports it, is no gap', async () => {
  const { generated, onMessage } = start({})
  onMessage(chunk(1))
  onMessage({ ...chunk(2, 3), completionTokens: 3 })
  onMessage({ ...COMPLETE, completionTokens: 3 })
  expect(await generated).toMatchObject({ completionTokens: 3 })
})

test.each([
  ['counts more tokens than have come means a gap at the end', 'gap', { completionTokens: 3 }],
  [
    'stops short of the limit means damage anywhere',
    'damaged',
    { finishReason: 'length', completionTokens: 2 },
  ],
])('an end that %s', async (_, kind, end) => {
  const { generated, onMessage } = start({})
  onMessage(chunk(1))
  onMessage({ ...chunk(2), completionTokens: 2 })
  onMessage({ ...COMPLETE, ...end })
  await expect(generated).rejects.toMatchObject({ kind, quotesRequest: false })
})

test('an output that ends at the end of the context is whole', async () => {
  const { generated, onMessage } = start({ asks: { promptIds: new Uint32Array(7) } })
  onMessage(chunk(1))
  onMessage({ ...COMPLETE, finishReason: 'length', completionTokens: 1 })
  expect(await generated).toMatchObject({ finishReason: 'length' })
})

test('a consumer that wants no more does not ask whether the rest was whole', async () => {
  const { generated, onMessage } = start(wantsNoMore)
  onMessage(chunk(1))
  onMessage({ ...COMPLETE, finishReason: 'length', completionTokens: 1 })
  expect(await generated).toMatchObject({ finishReason: 'length' })
})
