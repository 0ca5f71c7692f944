import type { ServerResponse } from 'node:http'

/**
 * Returns a controller whose signal aborts when the client closes the connection before the answer is fully written.
 * The caller may abort the controller earlier. `onClose` is called when the response closes, for whatever reason.
 */
export function abortOnHangUp(response: ServerResponse, onClose = () => {}): AbortController {
  const controller = new AbortController()
  if (response.closed) {
    controller.abort()
    onClose()
  } else {
    // `close` is emitted only once, so `on` is enough: `once` would keep a wrapper for each open stream.
    response.on('close', () => {
      if (!response.writableFinished) controller.abort()
      onClose()
    })
  }
  return controller
}
