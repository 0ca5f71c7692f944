import { readChoices, readEvents, type StreamedAnswer } from './sse-events.ts'

export type ChatCall = {
  baseUrl: string
  apiKey: string
  content: string
  model?: string
  fields?: Record<string, unknown>
  signal?: AbortSignal
  /** Called with each piece of the body as it arrives. */
  onPiece?: (piece: string) => void
}

export type ErrorBody = { code: string; message: string; type: string }

export type ChatAnswer =
  | ({ status: 200 } & StreamedAnswer)
  | { status: number; error: ErrorBody; retryAfter: string | null }

/**
 * Requests one streamed chat completion over plain HTTP and returns the whole answer. Rejects if the connection breaks.
 */
export async function chat(call: ChatCall): Promise<ChatAnswer> {
  const { baseUrl, apiKey, content, model = 'demo-chat', fields = {}, signal, onPiece } = call
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      stream: true,
      stream_options: { include_usage: true },
      ...fields,
    }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (response.status !== 200 || response.body === null) {
    const body: { error: ErrorBody } = JSON.parse(await response.text())
    return { status: response.status, error: body.error, retryAfter: response.headers.get('retry-after') }
  }
  let received = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    received += piece
    onPiece?.(piece)
  }
  return { status: 200, ...readEvents(received) }
}

/** As `chat`, for tests that expect an answer; throws on an error. */
export async function chatOk(call: ChatCall): Promise<StreamedAnswer> {
  const answer = await chat(call)
  if (!('text' in answer)) throw new Error(`HTTP ${answer.status}: ${JSON.stringify(answer.error)}`)
  return answer
}

/** As `chatOk`, for a request with several answers. Each answer has the usage of the request. */
export async function chatChoices(call: ChatCall): Promise<StreamedAnswer[]> {
  let received = ''
  await chatOk({
    ...call,
    onPiece(piece) {
      received += piece
      call.onPiece?.(piece)
    },
  })
  return readChoices(received)
}
