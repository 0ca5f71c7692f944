import { z } from 'zod'

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.url() })).min(1)

/**
 * Makes a process that was started with `--inspect=127.0.0.1:<port>` collect its garbage now, so that its memory is what
 * it needs and does not depend on when V8 last collected.
 */
export async function collectGarbage(inspectPort: number): Promise<void> {
  const [target] = Targets.parse(await (await fetch(`http://127.0.0.1:${inspectPort}/json`)).json())
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.addEventListener('error', () => reject(new Error('the inspector cannot be reached')))
  socket.addEventListener('open', () => socket.send('{"id":1,"method":"HeapProfiler.collectGarbage"}'))
  socket.addEventListener('message', () => resolve())
  await promise
  socket.close()
}
