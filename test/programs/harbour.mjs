// An MCP server for agent programs: JSON-RPC on standard input and output, one message a line.
// Source: the transport "stdio" of the Model Context Protocol, 2025-06-18.
import { createInterface } from 'node:readline'

const toTool = (name, description) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] },
})
const TOOLS = [
  toTool('lookup_tide', 'Returns the tide of a harbour.'),
  toTool('draw_chart', 'Returns the chart of a harbour as a picture.'),
]
const TIDE = { type: 'text', text: 'HIGH-TIDE-1432' }
/** A picture of one white pixel. */
const CHART = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==',
}
const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'harbour', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ name }) => ({ content: [name === 'draw_chart' ? CHART : TIDE] }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const answer = ANSWERS[method]
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: 'unknown method' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`)
}
