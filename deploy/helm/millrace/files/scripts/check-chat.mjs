// `helm test`: a client lists the models, then streams a chat of at most 8 tokens to its end. A model without a running
// worker must answer 429 with retry-after instead.
import { readFileSync } from 'node:fs'

const { GATEWAY_URL, MODEL, API_KEY_FILE, ADMIN_URL, ADMIN_TOKEN_FILE } = process.env
const LIMIT_MS = 120_000
const headers = { authorization: `Bearer ${await findKey()}`, 'content-type': 'application/json' }

const { data } = await (await call('/v1/models')).json()
if (!data.some(({ id }) => id === MODEL)) fail(`the model ${MODEL} is not in ${JSON.stringify(data.map(({ id }) => id))}`)

const messages = [{ role: 'user', content: 'Say hello.' }]
const body = JSON.stringify({ model: MODEL, messages, stream: true, max_tokens: 8 })
const answer = await call('/v1/chat/completions', { method: 'POST', body })
if (answer.status === 429) {
  const seconds = Number(answer.headers.get('retry-after'))
  if (!(seconds >= 1)) fail('429 without retry-after')
  console.log(`${MODEL} is starting or busy: 429, retry after ${seconds} s`)
} else {
  const text = await answer.text()
  const events = text.split('\n').filter((line) => line.startsWith('data: '))
  if (events.at(-1) !== 'data: [DONE]') fail(`the stream did not end with [DONE]: ${text.slice(-500)}`)
  const chunks = events.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)))
  const error = chunks.find((chunk) => chunk.error !== undefined)
  if (error !== undefined) fail(`the stream ended with an error: ${JSON.stringify(error)}`)
  if (!chunks.some(({ choices }) => choices?.some(({ finish_reason }) => finish_reason))) fail('the stream has no end of its answer')
  console.log(`${MODEL} streamed to [DONE]`)
}

async function call(path, options = {}) {
  const response = await fetch(GATEWAY_URL + path, { ...options, headers, signal: AbortSignal.timeout(LIMIT_MS) })
  if (response.ok || response.status === 429) return response
  return fail(`${path} answered ${response.status}: ${await response.text()}`)
}

/** The key of a Secret; in dev mode a new one, of a new account with credits. */
async function findKey() {
  if (API_KEY_FILE !== undefined) return readFileSync(API_KEY_FILE, 'utf8').trim()
  const { createClient } = await import('/app/scripts/cluster/create-client.ts')
  const adminToken = readFileSync(ADMIN_TOKEN_FILE, 'utf8').trim()
  return await createClient({ home: '/tmp', adminUrl: ADMIN_URL, adminToken, baseUrl: `${GATEWAY_URL}/v1` })
}

function fail(problem) {
  console.error(problem)
  process.exit(1)
}
