// A server of the Model Context Protocol on standard input and output. Its one tool, `lookup_tide`, has a fixed result.
import { createInterface } from 'node:readline'

const RESULTS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'harbour', version: '1' },
  }),
  'tools/list': () => ({
    tools: [
      {
        name: 'lookup_tide',
        description: 'Returns the tide.',
        inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
      },
    ],
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'HIGH-TIDE-1432' }] }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const result = RESULTS[method]?.(params) ?? {}
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}
