import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import { toCompletionId, toFinishReason } from './to-object.ts'

const DONE = 'data: [DONE]\n\n'

/**
 * Creates the renderer of one legacy stream. A chunk has a `text` instead of a delta. The last chunk has the finish
 * reason, and no chunk has the usage. Output other than text is dropped. All text of one call of `render` becomes one
 * chunk.
 */
export function createCompletionChunks({ id, created, model }: Answer<null>): StreamRenderer {
  const head =
    `data: {"id":${JSON.stringify(toCompletionId(id))},"object":"text_completion",` +
    `"created":${created},"model":${JSON.stringify(model.id)},"choices":[{"index":0,"text":`
  const chunk = (text: string, finishReason: string) =>
    `${head}${toJson(text)},"finish_reason":${finishReason}}]}\n\n`

  let ended = false

  return {
    headers: {},
    render(events) {
      let text = ''
      for (const event of events) {
        if (event.type === 'text-delta') text += event.text
        if (event.type !== 'generation-end') continue
        ended = true
        return (
          (text === '' ? '' : chunk(text, 'null')) +
          chunk('', JSON.stringify(toFinishReason(event.finishReason))) +
          DONE
        )
      }
      return text === '' ? '' : chunk(text, 'null')
    },
    ended: () => ended,
    /** Returns the error and `[DONE]`, without a chunk that has a finish reason. */
    renderError: (body) => `data: ${toJson(body)}\n\n${DONE}`,
  }
}
