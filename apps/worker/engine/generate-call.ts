import type { ChunkMessage, CompleteMessage } from './decode-chunk.ts'
import type { EngineEnd, EngineTokens } from './engine-client.ts'
import { EngineError } from './engine-error.ts'
import { fromCompleteMessage } from './engine-wire.ts'
import { findGapInChunk, findLossAtEnd, type CheckedCall } from './find-gap.ts'
import type { CallFailure } from './transport/call-failure.ts'
import type { StreamCall, StreamListener } from './transport/transport.ts'

/**
 * Runs one Generate call, and checks that the engine loses none of its tokens. The call is *open* until one of these things happens, and then it is *over*:
 * - The Complete message arrives.
 * - The call has failed, and the kind of the failure is known.
 * - The signal is aborted.
 * - The consumer wants no more tokens.
 * - A message shows that the engine has lost tokens. Tokens that follow a gap are not passed on.
 *
 * Tokens go to a callback, because an async iterator would cost two promises for each message. Messages that arrive
 * before the next microtask are joined. `onAbandoned` is called once if the signal or the consumer ends an open call.
 *
 * Resolves with the engine's report of the end, or with null if the signal or the consumer ends the call.
 */
export function runGenerate(
  open: (listener: StreamListener<ChunkMessage | CompleteMessage>) => StreamCall,
  options: {
    readonly signal: AbortSignal
    /** Returns whether more tokens are wanted. */
    readonly onTokens: (tokens: EngineTokens) => boolean
    readonly onAbandoned: () => void
    readonly toError: (failure: CallFailure, hasTokens: boolean) => Promise<EngineError>
    readonly checked: CheckedCall
  },
): Promise<EngineEnd | null> {
  const { signal, onTokens, onAbandoned, toError, checked } = options
  const { promise, resolve, reject } = Promise.withResolvers<EngineEnd | null>()
  let tokens: Joined | null = null
  let isOpen = true
  let completionTokens = 0

  /**
   * Passes the tokens that have arrived to the consumer, and returns whether the consumer wants more. If the consumer
   * throws, this function returns false, and the promise of `runGenerate` rejects with the consumer's error, whatever
   * happens later.
   */
  function passTokens(): boolean {
    const arrived = tokens
    tokens = null
    if (arrived === null) return true
    try {
      return onTokens(arrived)
    } catch (error) {
      reject(error)
      return false
    }
  }

  function passInMicrotask(): void {
    if (isOpen && !passTokens()) abandon()
  }

  function close(): void {
    isOpen = false
    signal.removeEventListener('abort', abandon)
  }

  function fail(error: unknown): void {
    if (!isOpen) return
    close()
    reject(error)
  }

  function abandon(): void {
    if (!isOpen) return
    close()
    resolve(null)
    call.cancel()
    onAbandoned()
  }

  function complete(message: CompleteMessage): void {
    close()
    const isWanted = passTokens()
    const loss = findLossAtEnd(message, completionTokens, checked)
    if (isWanted && loss !== null) reject(loss)
    else resolve(fromCompleteMessage(message, completionTokens))
  }

  function failAtGap(gap: string): void {
    if (!passTokens()) return abandon()
    fail(new EngineError('gap', `a message of the engine ${gap}`))
    call.cancel()
    onAbandoned()
  }

  const call = open({
    onMessage(message) {
      if (!isOpen) return
      if (message.type === 'complete') {
        complete(message)
        return
      }
      if (message.ids.length === 0) return
      const gap = findGapInChunk(message, completionTokens, checked.request)
      if (gap !== null) {
        failAtGap(gap)
        return
      }
      completionTokens += message.ids.length
      if (tokens === null) {
        tokens = message
        queueMicrotask(passInMicrotask)
      } else {
        for (const id of message.ids) tokens.ids.push(id)
        if (message.logprobs !== undefined) tokens.logprobs?.push(...message.logprobs)
      }
    },
    onEnd(failure) {
      if (!isOpen) return
      if (!passTokens()) {
        // A failure after the last wanted token is ignored.
        close()
        resolve(null)
      } else if (failure === null) {
        fail(new EngineError('unavailable', 'the engine closed the stream without completing it'))
      } else if (isOpen) {
        // The call stays open until `toError` has answered. `toError` may ask the engine for its health, and an abort
        // that comes meanwhile ends the call at once.
        void toError(failure, completionTokens > 0).then(fail, fail)
      }
    },
  })
  signal.addEventListener('abort', abandon)
  return promise
}

/** The messages that have arrived since tokens were passed to the consumer. */
type Joined = Pick<ChunkMessage, 'ids' | 'promptTokens' | 'cachedTokens' | 'logprobs' | 'promptLogprobs'>
