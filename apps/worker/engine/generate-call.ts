import type { ChunkMessage, CompleteMessage } from './decode-chunk.ts'
import type { EngineOutput } from './engine-client.ts'
import { EngineError } from './engine-error.ts'
import { fromCompleteMessage } from './engine-wire.ts'
import type { CallFailure } from './transport/call-failure.ts'
import type { StreamCall, StreamListener } from './transport/transport.ts'

/** A consumer this far behind pauses the stream: the engine then sends larger chunks. */
const MAX_WAITING_IDS = 4_096

/**
 * One Generate call as an async iterator. States: *open*, until the Complete, an error, or the consumer's end; then
 * *over*. Tokens that arrive while the consumer is busy are joined into one output, so the queue has at most that
 * output and the end of the call. `onAbandoned` is called once when the consumer ends an open call.
 */
export function iterateGenerate(
  open: (listener: StreamListener<ChunkMessage | CompleteMessage>) => StreamCall,
  options: {
    readonly signal: AbortSignal
    readonly onAbandoned: () => void
    readonly toError: (failure: CallFailure, hasTokens: boolean) => Promise<EngineError>
  },
): AsyncIterator<EngineOutput, undefined, undefined> {
  const { signal, onAbandoned, toError } = options
  let tokens: { type: 'tokens'; ids: number[]; promptTokens: number; cachedTokens: number } | null = null
  let last: { output: EngineOutput } | { error: EngineError } | null = null
  let waiter: PromiseWithResolvers<Result> | null = null
  let isOpen = true
  let paused = false
  let completionTokens = 0

  function take(): Result | null {
    if (tokens !== null) {
      const output = tokens
      tokens = null
      if (paused) {
        paused = false
        call.resume()
      }
      return { done: false, value: output }
    }
    if (last !== null) {
      const ending = last
      last = null
      if ('error' in ending) throw ending.error
      return { done: false, value: ending.output }
    }
    return isOpen ? null : DONE
  }

  /** Passes a new output or end to the consumer, if it waits. */
  function wake(): void {
    if (waiter === null) return
    const { resolve, reject } = waiter
    try {
      const result = take()
      if (result === null) return
      waiter = null
      resolve(result)
    } catch (error) {
      waiter = null
      reject(error)
    }
  }

  function end(ending: typeof last): void {
    if (!isOpen) return
    isOpen = false
    signal.removeEventListener('abort', abandon)
    last = ending
    wake()
  }

  function abandon(): void {
    if (!isOpen) return
    tokens = null
    end(null)
    call.cancel()
    onAbandoned()
  }

  const call = open({
    onMessage(message) {
      if (!isOpen) return
      if (message.type === 'complete') {
        end({ output: fromCompleteMessage(message, completionTokens) })
        return
      }
      if (message.ids.length === 0) return
      completionTokens += message.ids.length
      if (tokens === null) {
        const { ids, promptTokens, cachedTokens } = message
        tokens = { type: 'tokens', ids, promptTokens, cachedTokens }
      } else {
        for (const id of message.ids) tokens.ids.push(id)
      }
      wake()
      if (tokens !== null && tokens.ids.length >= MAX_WAITING_IDS && !paused) {
        paused = true
        call.pause()
      }
    },
    onEnd(failure) {
      if (!isOpen) return
      if (failure === null) {
        const details = 'the engine closed the stream without completing it'
        end({ error: new EngineError('unavailable', details) })
      } else {
        void toError(failure, completionTokens > 0).then((error) => end({ error }))
      }
    },
  })
  signal.addEventListener('abort', abandon)

  return {
    // Not an async function, which would make a second promise for each message.
    next() {
      waiter = Promise.withResolvers<Result>()
      const { promise } = waiter
      wake()
      return promise
    },
    return() {
      abandon()
      tokens = null
      last = null
      return Promise.resolve(DONE)
    },
  }
}

type Result = IteratorResult<EngineOutput, undefined>

const DONE: Result = { done: true, value: undefined }
