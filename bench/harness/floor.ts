import { fork } from 'node:child_process'
import { once } from 'node:events'
import { z } from 'zod'
import type { FloorSettings } from './floor-server.ts'
import { readThreadsCpuUs } from './process-cpu.ts'

/**
 * The server of floor-server.ts, in a separate process. Its CPU time per event is the floor, the lower limit, for the
 * CPU time of a streamed token.
 */
export type Floor = {
  /** The base URL, in the form of a gateway's base URL: `/chat/completions` is appended to it. */
  readonly baseUrl: string
  /** Returns the CPU time and the number of events written since the start. */
  read(): Promise<{ cpuUs: number; events: number }>
  stop(): Promise<void>
}

/** Starts a server that sends these events to each stream, one each `stepMs`. See floor-server.ts. */
export async function startFloor(settings: FloorSettings): Promise<Floor> {
  const child = fork(new URL('floor-server.ts', import.meta.url))
  child.send(settings)
  const [port] = await once(child, 'message')
  const { pid } = child
  if (pid === undefined) throw new Error('the bare server has not started')
  const baseUrl = `http://127.0.0.1:${z.int().parse(port)}`
  return {
    baseUrl,
    async read() {
      const events = Number(await (await fetch(baseUrl)).text())
      return { cpuUs: readThreadsCpuUs(pid), events }
    },
    async stop() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}
