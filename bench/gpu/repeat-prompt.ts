import { randomUUID } from 'node:crypto'
import { offerStreams, type Side } from './offer-streams.ts'

/** This prompt is this many times as long as the other prompts. */
const LONGER = 5
const TOKENS = 16

/**
 * Sends one long prompt three times, one after another. Returns a text with the cached tokens and the time to the first
 * token of each request.
 */
export async function repeatPrompt(side: Side, words: number): Promise<string> {
  const prompt = `${randomUUID()} ${'kalomi nerusa tevoka '.repeat(Math.ceil((words * LONGER) / 3))}`
  const load = { streams: 1, requests: 3, words, tokens: TOKENS, prompt }
  const { streams } = await offerStreams(side, load, 1)
  const known = streams.flatMap(({ cachedTokens }) => cachedTokens ?? [])
  const cached = known.length === 0 ? 'not reported' : known.join(', ')
  const first = streams.map(({ timesMs }) => timesMs[0]?.toFixed(0) ?? '–').join(', ')
  return `${cached} of ${streams[0]?.promptTokens ?? '–'}; ${first}`
}
