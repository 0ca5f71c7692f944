import { status } from '@grpc/grpc-js'
import type { CallFailure } from './transport/call-failure.ts'

/**
 * `refused`: the request is at fault. `failed`: the engine is healthy, but did not complete the call. `unavailable`:
 * the engine cannot be reached, is stopping, or is busy. `dead`: the engine will not recover. `gap`: the engine has lost
 * the tokens that follow those which it has given, so the output can continue elsewhere. `damaged`: it has lost tokens
 * at an unknown place among those which it has given, so the output is worthless. `dead-end`: it could not write one token
 * within the grammar of the request, so the caller pays for the prompt.
 */
export type EngineErrorKind = 'refused' | 'failed' | 'unavailable' | 'dead' | 'gap' | 'damaged' | 'dead-end'

const QUOTING: ReadonlySet<EngineErrorKind> = new Set(['refused', 'failed', 'dead'])

/** A failed call to an engine. The message of a refused request may be shown to its caller. */
export class EngineError extends Error {
  readonly kind: EngineErrorKind
  /** True if the message is the engine's text about a request. It is not logged here; the engine's log has it. */
  readonly quotesRequest: boolean

  constructor(kind: EngineErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'EngineError'
    this.kind = kind
    this.quotesRequest = QUOTING.has(kind)
  }
}

/**
 * Finds whose fault a failed call is:
 * - INVALID_ARGUMENT is the request's fault.
 * - INTERNAL and UNKNOWN are the codes of a killed engine. In some pairs of vLLM and servicer they are also the codes
 *   of a refused request. So the engine's health decides. If the transport had to connect again to ask for the health,
 *   the engine may have been started anew, and its health then says nothing about the failed call. Requests are
 *   validated before the first token, so after a token these codes are never the request's fault.
 * - All other codes mean that the transport failed, or that the engine is draining or overloaded.
 *
 * Messages are ignored, because they change between versions.
 */
export async function toEngineError(
  error: CallFailure,
  context: {
    readonly hasTokens: boolean
    readonly isHealthy: () => Promise<boolean>
    readonly connections: () => number
  },
): Promise<EngineError> {
  const details = error.details === '' ? (status[error.code] ?? String(error.code)) : error.details
  if (error.code === status.INVALID_ARGUMENT) return new EngineError('refused', details, error)
  if (error.code !== status.INTERNAL && error.code !== status.UNKNOWN) {
    return new EngineError('unavailable', details, error)
  }
  const connections = context.connections()
  try {
    if (!(await context.isHealthy())) return new EngineError('dead', details, error)
  } catch (cause) {
    return new EngineError('unavailable', details, new AggregateError([error, cause]))
  }
  if (context.connections() !== connections) return new EngineError('unavailable', details, error)
  if (context.hasTokens) return new EngineError('failed', details, error)
  return new EngineError('refused', `the model's engine refused the request: ${details}`, error)
}
