import type { Random } from './random.ts'

/** How the body of a response is read. */
export type Shape =
  | 'chat-stream'
  | 'chat-object'
  | 'responses-stream'
  | 'responses-object'
  | 'completions-stream'
  | 'completions-object'
  | 'embeddings'

/** A request that has the same answer each time. */
export type Ask = {
  readonly name: string
  readonly model: string
  readonly path: string
  readonly shape: Shape
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
  /** A grammar constrains the output. If such a generation is interrupted, it may end with an error. */
  readonly guided: boolean
}

const WORDS =
  'mill race wheel stone water grain flour cart miller spring summer winter river ice sluice beam bolt hopper sack rope' +
  ' lantern ledger penny barley oats rye wheat dough oven crust village bridge meadow willow heron otter frost thaw'

/** Returns a text that no other request has. Every word has a number, so no part of it equals another part. */
function writeText(random: Random, words: number): string {
  const vocabulary = WORDS.split(' ')
  return Array.from({ length: words }, (_, index) => `${random.pick(vocabulary)}${index}`).join(' ')
}

/**
 * Returns the requests that the clients repeat: every operation, reasoning, tool calls, stop strings, limits, grammars.
 */
export function drawAsks(random: Random): Ask[] {
  const text = (words: number) => writeText(random, words)
  const seeded = () => ({ temperature: 0.8, seed: random.int(1, 900) })
  const greedy = { temperature: 0 }
  const filler = () => `Talk [[tokens=${random.int(120, 260)}]] ${text(3)}`
  return [
    chat('a long echo', { content: text(70) }, greedy),
    chat('a longer echo', { content: text(110) }, seeded()),
    chat('a short echo', { content: text(8) }, greedy),
    chat('other letters', { content: `äöü 🌾 東京 ${text(20)} 🦦 naïve ${text(15)}` }, greedy),
    chat('filler', { content: filler() }, greedy),
    chat('seeded filler', { content: filler() }, seeded()),
    chat('more seeded filler', { content: filler() }, seeded()),
    chat('a limit', { content: text(60) }, { ...greedy, max_tokens: 90 }),
    chat('a stop string', { content: stopAt(text(60), 'Here it ends, says the miller', text(30)) }, STOPPED),
    chat('a stop string in filler', { content: filler() }, { ...greedy, stop: ['winter the miller breaks'] }),
    chat('a conversation', { content: text(30), before: [text(40), text(40)] }, greedy),
    chat('thinking', { content: text(50), model: 'demo-reasoning' }, greedy),
    chat('long thinking', { content: text(20), model: 'demo-reasoning' }, { ...greedy, tools: MANY_TOOLS }),
    chat('a call', { content: 'Search the library' }, { ...greedy, tools: [libraryTool(text(40))] }),
    chat(
      'calls',
      { content: 'Search the library and tell the clock' },
      { ...greedy, tools: [libraryTool(text(25)), CLOCK] },
    ),
    chat(
      'calls after thinking',
      { content: 'Search the library', model: 'demo-reasoning' },
      { ...greedy, tools: [libraryTool(text(30)), CLOCK] },
    ),
    guided(chat('a schema', { content: text(5) }, { ...greedy, ...schemaOf(text(30)) })),
    guided(
      chat(
        'a forced call',
        { content: text(5) },
        { ...greedy, tools: [libraryTool(text(20))], tool_choice: 'required' },
      ),
    ),
    whole(chat('a whole echo', { content: text(60) }, greedy)),
    whole(
      chat('whole calls', { content: 'Search the library' }, { ...greedy, tools: [libraryTool(text(30))] }),
    ),
    whole(chat('whole thinking', { content: text(40), model: 'demo-reasoning' }, greedy)),
    guided(whole(chat('a whole schema', { content: text(5) }, { ...greedy, ...schemaOf(text(25)) }))),
    responses('responses', 'spec', { input: text(60), ...greedy }),
    responses('full responses', 'full', { input: text(60), ...greedy }),
    responses('responses with calls', 'full', {
      input: 'Search the library',
      tools: [{ type: 'function', ...libraryTool(text(30)).function }],
      ...greedy,
    }),
    responses('responses with thinking', 'full', { model: 'demo-reasoning', input: text(40), ...greedy }),
    responses('a limit of responses', 'spec', { input: filler(), max_output_tokens: 100, ...greedy }),
    whole(responses('whole responses', 'spec', { input: text(50), ...greedy })),
    completions('completions', { prompt: text(60), ...greedy }),
    completions('a stop string of completions', { prompt: filler(), stop: ' goes in above', ...greedy }),
    whole(completions('whole completions', { prompt: text(40), ...greedy })),
    embeddings('one embedding', text(20)),
    embeddings(
      'embeddings',
      Array.from({ length: 24 }, () => text(12)),
    ),
    embeddings(
      'many embeddings',
      Array.from({ length: 96 }, () => text(30)),
    ),
  ]
}

const STOPPED = { temperature: 0, stop: ['it ends, says'] }
const stopAt = (before: string, at: string, after: string) => `${before} ${at} ${after}`

function libraryTool(text: string) {
  const properties = {
    text: { type: 'string', const: text },
    filters: { type: 'array', const: [{ 'a "b"': [1, null, true] }, text.slice(0, 40)] },
  }
  return {
    type: 'function' as const,
    function: {
      name: 'search_library',
      parameters: { type: 'object', properties, required: ['text', 'filters'] },
    },
  }
}

const CLOCK = { type: 'function', function: { name: 'world_clock' } }
const MANY_TOOLS = Array.from({ length: 8 }, (_, index) => ({
  type: 'function',
  function: { name: `remote_procedure_${index}` },
}))

function schemaOf(text: string) {
  const schema = {
    type: 'object',
    properties: { text: { type: 'string', const: text } },
    required: ['text'],
    additionalProperties: false,
  }
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } }
}

function chat(
  name: string,
  said: { content: string; before?: readonly [string, string]; model?: string },
  fields: object,
): Ask {
  const { content, before, model = 'demo-chat' } = said
  const earlier =
    before === undefined
      ? []
      : [
          { role: 'user', content: before[0] },
          { role: 'assistant', content: before[1] },
        ]
  const body = {
    model,
    messages: [...earlier, { role: 'user', content }],
    stream: true,
    stream_options: { include_usage: true },
    ...fields,
  }
  return { name, model, path: '/chat/completions', shape: 'chat-stream', headers: {}, body, guided: false }
}

function responses(
  name: string,
  events: 'spec' | 'full',
  fields: { model?: string; input: string; [field: string]: unknown },
): Ask {
  const { model = 'demo-chat' } = fields
  return {
    name,
    model,
    path: '/responses',
    shape: 'responses-stream',
    headers: { 'x-responses-events': events },
    body: { stream: true, ...fields, model },
    guided: false,
  }
}

function completions(name: string, fields: object): Ask {
  const model = 'demo-chat'
  const body = { model, stream: true, ...fields }
  return { name, model, path: '/completions', shape: 'completions-stream', headers: {}, body, guided: false }
}

function embeddings(name: string, input: string | readonly string[]): Ask {
  const model = 'demo-embed'
  return {
    name,
    model,
    path: '/embeddings',
    shape: 'embeddings',
    headers: {},
    body: { model, input },
    guided: false,
  }
}

const guided = (ask: Ask): Ask => ({ ...ask, guided: true })

const WHOLE = {
  'chat-stream': 'chat-object',
  'responses-stream': 'responses-object',
  'completions-stream': 'completions-object',
} as const

/** Returns the same request without streaming. */
function whole(ask: Ask): Ask {
  const { shape } = ask
  if (shape !== 'chat-stream' && shape !== 'responses-stream' && shape !== 'completions-stream')
    throw new Error(`${ask.name} is no stream`)
  return { ...ask, shape: WHOLE[shape], body: { ...ask.body, stream: false, stream_options: undefined } }
}
