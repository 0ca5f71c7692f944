import { z } from 'zod'
import { readResidentKib } from './process-cpu.ts'

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.url() })).min(1)
const Reply = z.object({ id: z.int(), result: z.record(z.string(), z.unknown()) })
const HeapUsage = z.object({ usedSize: z.int(), totalSize: z.int() })

/** How long V8 may take to give pages back to the system, which it does in the background. */
const UNMAP_MS = 2_000

/**
 * Returns the memory that a process needs, in KiB: the used part of V8's heap right after a garbage collection, plus
 * the resident memory outside that heap. Free space in the heap is left out, because the amount that V8 keeps depends
 * on the earlier load. The process must have been started with `--inspect=127.0.0.1:<inspectPort>`.
 */
export async function readNeededKib(pid: number, inspectPort: number): Promise<number> {
  const { ask, close } = await openInspector(inspectPort)
  const readHeap = async () => HeapUsage.parse(await ask('Runtime.getHeapUsage'))
  await ask('HeapProfiler.collectGarbage')
  const { usedSize } = await readHeap()
  await new Promise((resolve) => setTimeout(resolve, UNMAP_MS))
  const { totalSize } = await readHeap()
  close()
  return readResidentKib(pid) + (usedSize - totalSize) / 1_024
}

async function openInspector(port: number) {
  const [target] = Targets.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).json())
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  const opened = Promise.withResolvers<void>()
  socket.addEventListener('error', () => opened.reject(new Error('the inspector cannot be reached')))
  socket.addEventListener('open', () => opened.resolve())
  let lastId = 0
  await opened.promise
  return {
    async ask(method: string): Promise<unknown> {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      lastId += 1
      const id = lastId
      socket.addEventListener('close', () => reject(new Error('the inspector has gone')))
      socket.addEventListener('message', ({ data }) => {
        const message = Reply.safeParse(JSON.parse(String(data)))
        if (message.success && message.data.id === id) resolve(message.data.result)
      })
      socket.send(JSON.stringify({ id, method }))
      return await promise
    },
    close: () => socket.close(),
  }
}
