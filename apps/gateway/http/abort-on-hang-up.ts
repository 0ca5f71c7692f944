import type { ServerResponse } from 'node:http'

/**
 * A controller whose signal aborts when the client is gone before its answer was fully written. The owner of
 * the answer may abort it earlier, for reasons of its own.
 */
export function abortOnHangUp(response: ServerResponse): AbortController {
  const controller = new AbortController()
  if (response.closed) controller.abort()
  else {
    response.once('close', () => {
      if (!response.writableFinished) controller.abort()
    })
  }
  return controller
}
