import { status } from '@grpc/grpc-js'
import type { CallFailure } from './transport/call-failure.ts'

/** refused: the request's own fault. unavailable: not to be reached, or busy. dead: it will not recover. */
export type EngineErrorKind = 'refused' | 'unavailable' | 'dead'

/** A failed call to an engine. The message of a refused request may be shown to its caller. */
export class EngineError extends Error {
  readonly kind: EngineErrorKind

  constructor(kind: EngineErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'EngineError'
    this.kind = kind
  }
}

/**
 * Whose fault a failed call is. INVALID_ARGUMENT is the request's. INTERNAL and UNKNOWN are the codes of a killed
 * engine, but also of a refused request in some pairs of vLLM and servicer, so the engine's health decides;
 * validation comes before the first token, hence after it they are never the request's fault. The rest is
 * transport, draining or overload. Texts change between versions and decide nothing.
 */
export async function toEngineError(
  error: CallFailure,
  context: { readonly hasTokens: boolean; readonly isHealthy: () => Promise<boolean> },
): Promise<EngineError> {
  const told = error.details === '' ? (status[error.code] ?? String(error.code)) : error.details
  if (error.code === status.INVALID_ARGUMENT) return new EngineError('refused', told, error)
  if (error.code !== status.INTERNAL && error.code !== status.UNKNOWN) {
    return new EngineError('unavailable', told, error)
  }
  try {
    if (!(await context.isHealthy())) return new EngineError('dead', told, error)
  } catch (cause) {
    return new EngineError('unavailable', told, new AggregateError([error, cause]))
  }
  if (context.hasTokens) return new EngineError('unavailable', told, error)
  return new EngineError('refused', `the model's engine refused the request: ${told}`, error)
}
