import type { ServerResponse } from 'node:http'

/**
 * Returns a controller whose signal aborts when the client closes the connection before the answer is fully written.
 * The owner of the answer may abort it earlier.
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
