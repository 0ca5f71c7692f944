import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { z } from 'zod'
import { FaultChange, type FaultSettings } from './faults.ts'

export type FaultyEngine = {
  readonly model: string
  readonly listen: string
  readonly faults: () => FaultSettings
  readonly changeFaults: (change: Omit<FaultChange, 'engine'>) => Promise<void>
}

/**
 * Serves `/faults` on the operators' port. GET returns every engine's faults. POST changes the faults of the engine
 * that the body names, or of all engines, and answers like GET after the change has taken effect.
 */
export function createFaultsRoute(engines: () => readonly FaultyEngine[]): RequestListener {
  const show = (response: ServerResponse) => {
    const list = engines().map(({ model, listen, faults }) => ({ model, listen, faults: faults() }))
    answer(response, 200, list)
  }

  async function change(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parsed = FaultChange.safeParse(await readJson(request))
    if (!parsed.success) return answer(response, 400, { error: z.prettifyError(parsed.error) })
    const { engine: name, ...wanted } = parsed.data
    const chosen = engines().filter(
      (engine) => name === undefined || name === engine.model || name === engine.listen,
    )
    if (chosen.length === 0) return answer(response, 404, { error: `no engine is called ${name ?? ''}` })
    await Promise.all(chosen.map((engine) => engine.changeFaults(wanted)))
    show(response)
  }

  return (request, response) => {
    if (request.method === 'GET') return show(response)
    if (request.method !== 'POST') return answer(response, 405, { error: 'GET or POST' })
    change(request, response).catch((error: unknown) => answer(response, 500, { error: String(error) }))
  }
}

const MAX_BODY_BYTES = 65_536

/** Returns undefined for a body that is too long or not JSON; the schema then rejects it. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    const data = Buffer.from(chunk)
    bytes += data.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(data)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    return undefined
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
