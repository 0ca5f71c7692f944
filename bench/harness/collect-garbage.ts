import { z } from 'zod'

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.url() })).min(1)

/**
 * Makes a process that was started with `--inspect=127.0.0.1:<port>` collect its garbage now: the heap's size
 * follows V8's moods, what is left after a collection is what the process needs.
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
