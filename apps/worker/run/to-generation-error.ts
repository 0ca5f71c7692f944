import type { GenerationError } from '#libs/contracts/generation-event.ts'
import { ChatTemplateError } from '#libs/chat-template/chat-renderer.ts'
import { EngineError } from '../engine/engine-error.ts'
import { ConstraintError } from '#libs/dialect/constrain-output.ts'

/**
 * Returns the public error of a failed generation. A prompt that the template refuses, a constraint that the model
 * cannot follow and a request that the engine refuses are the caller's fault; every other failure is ours, and its
 * message describes nothing internal.
 */
export function toGenerationError(error: unknown): Omit<GenerationError, 'type'> {
  if (error instanceof ChatTemplateError || error instanceof ConstraintError) {
    return { code: 'invalid_request', message: error.message }
  }
  if (error instanceof EngineError && error.kind === 'refused') {
    return { code: 'invalid_request', message: error.message }
  }
  return { code: 'upstream_error', message: 'The inference backend failed; nothing is charged for it.' }
}
