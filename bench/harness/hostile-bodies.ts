/** A body that costs the receiver much more than its sender. */
export type HostileBody = {
  readonly name: string
  /** The path of the operation below the base URL. */
  readonly path: string
  readonly body: string
}

/** Just below the size from which the gateway prepares every body on a thread. */
const SMALL_BYTES = 65_536 - 200

/** Returns bodies below 64 KiB, each with as many values as fit, or with one value that takes long to check. */
export function smallHostileBodies({ chat, embedding }: { chat: string; embedding: string }): HostileBody[] {
  const inList = (item: string) => {
    const count = Math.floor(SMALL_BYTES / (item.length + 1)) - 40
    return `[${Array.from({ length: count }, () => item).join(',')}]`
  }
  const names = (toName: (index: number) => string) =>
    `{${Array.from({ length: 6_000 }, (_, index) => `"${toName(index)}":0`).join(',')}}`
  const messages = (list: string) => `{"model":"${chat}","messages":${list}}`
  const more = (fields: string) =>
    `{"model":"${chat}","max_tokens":1,"messages":[{"role":"user","content":"x"}],${fields}}`
  const format = (schema: string) => more(`"response_format":${toFormat(schema)}`)
  const completions = '/chat/completions'
  const bodies: [name: string, path: string, body: string][] = [
    ['messages that are none', completions, messages(inList('0'))],
    ['parts of content that are none', completions, messages(`[{"role":"user","content":${inList('0')}}]`)],
    ['calls that are none', completions, messages(`[{"role":"assistant","tool_calls":${inList('0')}}]`)],
    ['tools that are none', completions, more(`"tools":${inList('0')}`)],
    ['empty stop strings', completions, more(`"stop":${inList('""')}`)],
    ['biases with wrong names', completions, more(`"logit_bias":${names((index) => `x${index}`)}`)],
    ['items that are none', '/responses', `{"model":"${chat}","input":${inList('{}')}}`],
    [
      'parts of items that are none',
      '/responses',
      `{"model":"${chat}","input":[{"role":"user","content":${inList('{}')}}]}`,
    ],
    [
      'parts of reasoning that are none',
      '/responses',
      `{"model":"${chat}","input":[{"type":"reasoning","summary":${inList('0')}}]}`,
    ],
    [
      'metadata that is none',
      '/responses',
      `{"model":"${chat}","input":"x","metadata":${names((index) => `x${index}`)}}`,
    ],
    ['prompts that are none', '/completions', `{"model":"${chat}","prompt":${inList('0')}}`],
    ['inputs that are none', '/embeddings', `{"model":"${embedding}","input":${inList('0')}}`],
    [
      'a schema of 19,000 choices',
      completions,
      format(`{"anyOf":[${Array.from({ length: 19_000 }, () => '{}').join(',')}]}`),
    ],
    [
      'a pattern of 20,000 groups',
      completions,
      format(`{"type":"string","pattern":"${'(a)'.repeat(20_000)}"}`),
    ],
    ['brackets', completions, messages('['.repeat(30_000) + ']'.repeat(30_000))],
  ]
  return bodies.map(([name, path, body]) => ({ name, path, body }))
}

/** Returns bodies of up to the largest size that a gateway reads. */
export function largeHostileBodies({ chat }: { chat: string }): HostileBody[] {
  const withFields = (fields: object) =>
    JSON.stringify({ model: chat, max_tokens: 1, messages: [{ role: 'user', content: 'x' }], ...fields })
  const prompt = (content: string) => withFields({ messages: [{ role: 'user', content }] })
  const many = (count: number, item: object) => Array.from({ length: count }, () => item)
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
  const pattern = { type: 'object', properties: { a: { type: 'string', pattern: '^(([a-z]+)+)+$' } } }
  const wide = { type: 'object', properties: { a: { enum: Array.from({ length: 15_000 }, (_, i) => i) } } }
  const id = '<|'.repeat(4 << 20)
  const call = { id, type: 'function', function: { name: 'f', arguments: '{}' } }
  const bodies: [name: string, body: string][] = [
    ['a prompt of 31 MiB', prompt('word '.repeat((31 << 20) / 5))],
    ['31 MiB of escapes', prompt('\n'.repeat((31 << 20) / 2))],
    ['a million brackets', `{"model":"${chat}","messages":${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
    ['900,000 values', withFields({ ignored: many(450_000, {}) })],
    ['100,000 messages', withFields({ messages: many(100_000, { role: 'user', content: 'x' }) })],
    ['10,000 tools', withFields({ tools: many(10_000, tool) })],
    [
      'a regex that takes for ever',
      withFields({
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: pattern } },
      }),
    ],
    ['a prompt that only a tokenizer can refuse', prompt('word '.repeat(200_000))],
    ['a result’s id of 8 MiB', withFields({ messages: [{ role: 'tool', tool_call_id: id, content: 'y' }] })],
    ['a call’s id of 8 MiB', withFields({ messages: [{ role: 'assistant', tool_calls: [call] }] })],
    [
      'eight grammars of 15,000 values',
      withFields({
        tool_choice: 'required',
        tools: Array.from({ length: 8 }, (_, index) => ({
          type: 'function',
          function: { name: `f${index}`, parameters: wide },
        })),
      }),
    ],
  ]
  return [
    ...bodies.map(([name, body]) => ({ name, path: '/chat/completions', body })),
    {
      name: 'an item’s call id of 8 MiB',
      path: '/responses',
      body: JSON.stringify({
        model: chat,
        max_output_tokens: 1,
        input: [{ type: 'function_call_output', call_id: id, output: 'y' }],
      }),
    },
  ]
}

function toFormat(schema: string): string {
  return `{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`
}
