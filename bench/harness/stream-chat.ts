import { Agent, request } from 'node:http'

export type StreamResult = {
  firstTextMs: number
  text: string
  completionTokens: number
  /** The events as they arrived. */
  body: string
}

export const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

/**
 * Requests one streamed chat completion over plain HTTP and reads it as cheaply as possible, because the client shares
 * the machine with the cluster. `firstTextMs` of the result is the time from the sending of the request to the first
 * non-empty text.
 */
export async function streamChat(options: {
  baseUrl: string
  apiKey: string
  body: object
  onFirstText?: () => void
  /** Called for each piece of the body that has text. */
  onText?: () => void
}): Promise<StreamResult> {
  const { promise, resolve, reject } = Promise.withResolvers<StreamResult>()
  const body = JSON.stringify({ ...options.body, stream: true, stream_options: { include_usage: true } })
  const startedMs = performance.now()
  let firstTextMs = Number.NaN
  let received = ''

  const outgoing = request(`${options.baseUrl}/chat/completions`, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Bearer ${options.apiKey}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  outgoing.on('response', (response) => {
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      if ((Number.isNaN(firstTextMs) || options.onText !== undefined) && /"content":"[^"]/u.test(chunk)) {
        options.onText?.()
        if (Number.isNaN(firstTextMs)) {
          firstTextMs = performance.now() - startedMs
          options.onFirstText?.()
        }
      }
      received += chunk
    })
    response.on('error', reject)
    response.on('end', () => {
      try {
        if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}: ${received}`)
        resolve({ firstTextMs, ...readEvents(received), body: received })
      } catch (error) {
        reject(error)
      }
    })
  })
  outgoing.on('error', reject)
  outgoing.end(body)
  return await promise
}

function readEvents(received: string) {
  let text = ''
  let completionTokens = 0
  for (const event of received.split('\n\n')) {
    if (!event.startsWith('data: {')) continue
    const chunk: {
      error?: unknown
      choices: { delta: { content?: string } }[]
      usage?: { completion_tokens: number }
    } = JSON.parse(event.slice('data: '.length))
    if (chunk.error !== undefined) throw new Error(`error event: ${event}`)
    text += chunk.choices[0]?.delta.content ?? ''
    completionTokens += chunk.usage?.completion_tokens ?? 0
  }
  if (!received.endsWith('data: [DONE]\n\n')) throw new Error('the stream ended without [DONE]')
  return { text, completionTokens }
}
