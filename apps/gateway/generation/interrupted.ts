import { ApiError } from '#libs/contracts/api-error.ts'

/** A running generation that can go on nowhere; `reason` is logged, not sent. */
export function interrupted(reason: string): ApiError {
  const cause = new Error(`the generation cannot go on: ${reason}`)
  return new ApiError('upstream_error', 'The generation was interrupted; nothing is charged for it.', {
    cause,
  })
}
