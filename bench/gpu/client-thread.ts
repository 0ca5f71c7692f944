// A thread of the load generator. It keeps its share of the streams open until its share of the requests is done.
import { randomInt } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { agent, streamChat } from '../harness/stream-chat.ts'
import { ClientOrder, type StreamFigures } from './figures.ts'

const order = ClientOrder.parse(workerData)
const figures: StreamFigures[] = []
let left = order.requests

async function follow(): Promise<void> {
  while (left > 0) {
    left -= 1
    figures.push(await measureStream())
  }
}

await Promise.all(Array.from({ length: Math.min(order.streams, order.requests) }, follow))
agent.destroy()
parentPort?.postMessage(figures)

/** Measures one streamed chat. A failure is recorded as a figure, so that the other streams go on. */
async function measureStream(): Promise<StreamFigures> {
  const startedMs = performance.now()
  const timesMs: number[] = []
  try {
    const { body, completionTokens } = await streamChat({
      baseUrl: order.baseUrl,
      apiKey: order.apiKey,
      body: {
        model: order.model,
        messages: [{ role: 'user', content: order.prompt ?? writePrompt(order.words) }],
        max_tokens: order.tokens,
        ignore_eos: true,
        temperature: 1,
        top_p: 1,
      },
      onText: () => timesMs.push(performance.now() - startedMs),
    })
    const usage = /"usage":\{.*?"prompt_tokens":(\d+)/u.exec(body)?.[1]
    const cached = /"cached_tokens":(\d+)/u.exec(body)?.[1]
    return {
      tokens: completionTokens,
      events: body.match(/"content":"[^"]/gu)?.length ?? 0,
      timesMs,
      promptTokens: usage === undefined ? null : Number(usage),
      cachedTokens: cached === undefined ? null : Number(cached),
      problem: null,
    }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { tokens: 0, events: 0, timesMs, promptTokens: null, cachedTokens: null, problem }
  }
}

/** Writes a prompt of newly drawn words, so that it is in no prefix cache. */
function writePrompt(words: number): string {
  const SYLLABLES = ['ka', 'lo', 'mi', 'ne', 'ru', 'sa', 'te', 'vo']
  const syllable = () => SYLLABLES[randomInt(SYLLABLES.length)] ?? ''
  return Array.from({ length: words }, () => syllable() + syllable() + syllable()).join(' ')
}
