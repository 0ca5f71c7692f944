import { Agent, request } from 'node:http'
import { connect } from 'node:net'

/** By kind of request, how often it was answered with each status. */
export type BarrageReport = Record<string, Record<string, number>>

/** Connections of the flood, each second; half of them send nothing, the others half a header. */
const CONNECTIONS_PER_S = 50

/**
 * Sends one hostile request after the other, each kind in its turn, and beside them a flood of connections, until
 * `signal` aborts; then it waits for the open requests.
 */
export async function runBarrage(options: {
  baseUrl: string
  apiKey: string
  model: string
  signal: AbortSignal
}): Promise<BarrageReport> {
  const { signal } = options
  const report: BarrageReport = {}
  const stopFlood = floodConnections(options.baseUrl)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const bodies = Object.entries(hostileBodies(options.model))
    for (let turn = 0; !signal.aborted; turn += 1) {
      const [name, body] = bodies[turn % bodies.length] ?? ['', '']
      const status = await post(options, body, agent)
      const statuses = (report[name] ??= {})
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  } finally {
    agent.destroy()
    report['connections'] = { opened: stopFlood() }
  }
  return report
}

function hostileBodies(model: string): Record<string, string> {
  const chat = (fields: object) =>
    JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'x' }], ...fields })
  const prompt = (content: string) => chat({ messages: [{ role: 'user', content }] })
  const many = (count: number, item: object) => Array.from({ length: count }, () => item)
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(([a-z]+)+)+$' } } }
  return {
    'a prompt of 31 MiB': prompt('word '.repeat((31 << 20) / 5)),
    '31 MiB of escapes': prompt('\n'.repeat((31 << 20) / 2)),
    'a million brackets': `{"model":"${model}","messages":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
    '900,000 values': chat({ ignored: many(450_000, {}) }),
    '100,000 messages': chat({ messages: many(100_000, { role: 'user', content: 'x' }) }),
    '10,000 tools': chat({ tools: many(10_000, tool) }),
    'a regex that takes for ever': chat({
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
    }),
    'a small body of brackets': `{"model":"${model}","messages":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    'a prompt that only a tokenizer can refuse': prompt('word '.repeat(200_000)),
  }
}

async function post(
  { baseUrl, apiKey }: { baseUrl: string; apiKey: string },
  body: string,
  agent: Agent,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const outgoing = request(`${baseUrl}/chat/completions`, {
    method: 'POST',
    agent,
    headers: { authorization: `Bearer ${apiKey}`, 'content-length': Buffer.byteLength(body) },
  })
  outgoing.on('response', (response) => {
    response.resume()
    response.on('end', () => resolve(String(response.statusCode)))
    response.on('error', () => resolve('broken'))
  })
  outgoing.on('error', () => resolve('broken'))
  outgoing.end(body)
  return await promise
}

/** Opens connections at a steady rate and closes each after two seconds; returns their count and a function that stops it. */
function floodConnections(baseUrl: string): () => number {
  const { port, hostname } = new URL(baseUrl)
  let opened = 0
  const timer = setInterval(() => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    if (opened % 2 === 0) socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ')
    setTimeout(() => socket.destroy(), 2_000)
    opened += 1
  }, 1_000 / CONNECTIONS_PER_S)
  return () => {
    clearInterval(timer)
    return opened
  }
}
