import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOOL_CALL_FORMAT_NAMES } from '#libs/dialect/formats.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import {
  FAMILIES,
  OPENED_MODEL,
  SPECIAL_MODELS,
  writeFamilyCatalog,
  writeFamilyModels,
  type NamedFamily,
} from '../support/family-models.ts'

let cluster: TestCluster
let account: TestAccount
let openai: OpenAI

const NAMES = [OPENED_MODEL, ...Object.values(SPECIAL_MODELS), ...FAMILIES.map(({ name }) => name)]

beforeAll(async () => {
  const models = { MODELS_DIR: writeFamilyModels() }
  cluster = await startCluster({
    workers: [NAMES.map((name) => ({ model: name, files: name, stepMs: 0, sequenceMs: 0 }))],
    simulatorEnv: models,
    workerEnv: models,
    billingEnv: { CATALOG_FILE: writeFamilyCatalog() },
  })
  account = await cluster.createAccount('100')
  openai = new OpenAI({ baseURL: cluster.baseUrl, apiKey: account.apiKey })
})

afterAll(async () => await cluster.stop())

test('the families cover every format of tool calls', () => {
  const formats = new Set(FAMILIES.map(({ toolCalls }) => toolCalls))
  expect([...formats]).toEqual(expect.arrayContaining([...TOOL_CALL_FORMAT_NAMES]))
})

type Params = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages' | 'stream'>
type Message = OpenAI.ChatCompletionMessageParam

/** A query with characters that a format might corrupt. */
const QUERY = {
  text: 'a "b",\n\\ 東 😀, 1 < 2 > 0',
  code: '007',
  ratio: -0.5,
  exact: true,
  near: null,
  filters: [{ 'a}': ['[1]'] }, {}],
}
const search = {
  type: 'function' as const,
  function: {
    name: 'search_library',
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(QUERY).map(([key, value]) => [key, { type: typeOf(value), const: value }]),
      ),
      required: Object.keys(QUERY),
    },
  },
}
const clock = { type: 'function' as const, function: { name: 'world_clock' } }
const tools = [search, clock]
const strict = (tool: typeof search) => ({ ...tool, function: { ...tool.function, strict: true } })
/** The client's type lacks this level of the interface. */
const OFF: Params = Object.fromEntries([['reasoning_effort', 'off']])

const SEARCH = { name: 'search_library', args: QUERY }
const CLOCK = { name: 'world_clock', args: {} }
const BOTH: Message = { role: 'user', content: 'Search the library and tell the clock' }

const thoughtOf = ({ reasoning }: NamedFamily, thought: string) => (reasoning === 'none' ? null : thought)
const THOUGHT_WITH_TOOLS =
  'There are 2 messages. I may call search_library, world_clock. I answer the last one.'

describe.concurrent.for(FAMILIES)('$name', (family) => {
  const reasoning = thoughtOf(family, THOUGHT_WITH_TOOLS)

  test('calls both tools, and answers with their results, turn after turn', async () => {
    const called = { content: null, reasoning, calls: [SEARCH, CLOCK], finish: 'tool_calls' }
    const first = await ask(family.name, [BOTH], { tools, tool_choice: 'auto' })
    expect(first.answer).toEqual(called)
    const answered: Message[] = [BOTH, first.message, ...first.ids.map(toResult)]
    const second = await ask(family.name, answered, { tools })
    expect(second.answer).toEqual({
      content: 'The tool says: result 0\nresult 1',
      reasoning: thoughtOf(family, 'There are 4 messages, and the last one is the result of a tool.'),
      calls: [],
      finish: 'stop',
    })
    const third = await ask(family.name, [...answered, second.message, BOTH], { tools })
    expect(third.answer).toMatchObject({ calls: [SEARCH, CLOCK], finish: 'tool_calls' })
    const ids = [...first.ids, ...third.ids]
    expect(new Set(ids).size).toBe(4)
    for (const [i, id] of ids.entries()) expect(id).toMatch(idOf(family, [SEARCH, CLOCK][i % 2]?.name, i))
  })

  test.for<[name: string, params: Params, calls: object[]]>([
    ['one call where several are not allowed', { parallel_tool_calls: false }, [SEARCH]],
    ['calls of a strict tool', { tools: [strict(search), clock] }, [SEARCH, CLOCK]],
    ['calls where JSON would do as well', { response_format: { type: 'json_object' } }, [SEARCH, CLOCK]],
    ['required calls', { tool_choice: 'required' }, [SEARCH, CLOCK]],
    ['one required call', { tool_choice: 'required', parallel_tool_calls: false }, [SEARCH]],
    ['the named call', { tool_choice: { type: 'function', function: { name: 'world_clock' } } }, [CLOCK]],
  ])('makes %s', async ([, params, calls]) => {
    const { answer } = await ask(family.name, [BOTH], { tools, ...params })
    expect(answer).toEqual({ content: null, reasoning, calls, finish: 'tool_calls' })
  })

  test('refuses a tool that it cannot name, but no history of its calls', async () => {
    const odd = { type: 'function' as const, function: { name: 'a "tool"' } }
    const offering = ask(family.name, [BOTH], { tools: [clock, odd] })
    await expect(offering).rejects.toMatchObject({ status: 400, param: 'tools[1].function.name' })
    const calls = [{ id: 'call_0', ...odd, function: { ...odd.function, arguments: '{}' } }]
    const history: Message[] = [BOTH, { role: 'assistant', tool_calls: calls }, toResult('call_0', 0)]
    const { answer } = await ask(family.name, history, { tools })
    expect(answer).toMatchObject({ content: 'The tool says: result 0', finish: 'stop' })
  })

  test('answers, with the thinking apart from the answer', async () => {
    const hello: Message = { role: 'user', content: 'Grüße 😀, 1 < 2' }
    const said = { content: 'You said: Grüße 😀, 1 < 2', calls: [], finish: 'stop' }
    const reasoning = thoughtOf(family, 'There is one message. I answer the last one.')
    const { answer, usage } = await ask(family.name, [hello], {})
    expect(answer).toEqual({ ...said, reasoning })
    expect(usage.reasoning > 0).toBe(family.reasoning !== 'none')
    expect(usage.reasoning).toBeLessThan(usage.completion)
    const offered = await ask(family.name, [hello], { tools })
    expect(offered.answer).toEqual({
      ...said,
      content: `${said.content}\n\nBefore that:\ntools: search_library, world_clock`,
      reasoning: thoughtOf(family, THOUGHT_WITH_TOOLS),
    })
    const off = await ask(family.name, [hello], OFF)
    // The template has only this switch.
    const switched = family.effort.off['enable_thinking'] === false
    expect(off.answer).toEqual({ ...said, reasoning: switched ? null : reasoning })
    const json = await ask(family.name, [hello], { response_format: { type: 'json_object' } })
    expect(json.answer).toEqual({ ...said, content: '{}', reasoning })
  })

  test('makes items of them in responses', async () => {
    const call = {
      model: family.name,
      input: 'Search the library and tell the clock',
      tools: tools.map(({ type, function: { name, ...rest } }) => ({
        type,
        name,
        strict: false,
        parameters: { type: 'object' },
        ...rest,
      })),
    }
    const [whole, streamed] = await Promise.all([
      openai.responses.create(call),
      openai.responses.stream(call).finalResponse(),
    ])
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] }
    const called = [SEARCH, CLOCK].map(({ name, args }) => ({
      type: 'function_call',
      status: 'completed',
      name,
      arguments: args,
    }))
    const items = [...(reasoning === null ? [] : [thought]), ...called]
    expect(whole.output.map(withParsedArguments)).toMatchObject(items)
    expect(streamed.output.map(withParsedArguments)).toMatchObject(items)
  })
})

test.for([
  ['whose template opens the thinking', OPENED_MODEL, [SEARCH, CLOCK]],
  ['whose markers are special tokens', SPECIAL_MODELS.magistral, [SEARCH, CLOCK]],
  ['whose calls end the turn', SPECIAL_MODELS['gpt-oss'], [SEARCH]],
] as const)('a model %s calls and answers like the others', async ([, model, calls]) => {
  const called = { content: null, reasoning: THOUGHT_WITH_TOOLS, calls, finish: 'tool_calls' }
  for (const choice of ['auto', 'required'] as const) {
    const { answer } = await ask(model, [BOTH], { tools, tool_choice: choice })
    expect(answer).toEqual(called)
  }
  const { answer } = await ask(model, [{ role: 'user', content: 'Hello' }], {})
  expect(answer).toEqual({
    content: 'You said: Hello',
    reasoning: 'There is one message. I answer the last one.',
    calls: [],
    finish: 'stop',
  })
})

test('afterwards the books are balanced and nothing is held', async () => {
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).held).toBe(0n)
})

/** Asks without streaming, and streamed with the client's own helper. Both answers must be the same. */
async function ask(model: string, messages: Message[], params: Params) {
  const body = { model, messages, ...params }
  const stream = openai.chat.completions.stream(body)
  // The helper ignores reasoning.
  let thought: string | null = null
  stream.on('chunk', ({ choices }) => {
    const { reasoning_content: added } = Object(choices[0]?.delta)
    if (typeof added === 'string') thought = (thought ?? '') + added
  })
  const [whole, streamed] = await Promise.all([
    openai.chat.completions.create(body),
    stream.finalChatCompletion(),
  ])
  const choice = choiceOf(whole)
  const { reasoning_content: reasoning = null } = Object(choice.message)
  const answer = { ...read(choice), reasoning }
  expect({ ...read(choiceOf(streamed)), reasoning: thought }).toEqual(answer)
  return {
    answer,
    message: choice.message,
    ids: (choice.message.tool_calls ?? []).map(({ id }) => id),
    usage: {
      reasoning: whole.usage?.completion_tokens_details?.reasoning_tokens ?? 0,
      completion: whole.usage?.completion_tokens ?? 0,
    },
  }
}

function choiceOf({ choices }: OpenAI.ChatCompletion): OpenAI.ChatCompletion.Choice {
  const [choice] = choices
  if (choice === undefined) throw new Error('an answer without a choice')
  return choice
}

function read({ message, finish_reason: finish }: OpenAI.ChatCompletion.Choice) {
  const calls = (message.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error(`a call of type ${call.type}`)
    const args: unknown = JSON.parse(call.function.arguments)
    return { name: call.function.name, args }
  })
  // The helper returns the empty content of the first chunk if the answer has no content.
  return { content: message.content || null, finish, calls }
}

function withParsedArguments(item: OpenAI.Responses.ResponseOutputItem): object {
  return item.type === 'function_call' ? { ...item, arguments: JSON.parse(item.arguments) } : item
}

const toResult = (id: string, index: number): Message => ({
  role: 'tool',
  tool_call_id: id,
  content: `result ${index}`,
})

/** Returns the pattern of the ids of a conversation's calls. */
function idOf({ callIds }: NamedFamily, name: string | undefined, index: number): RegExp {
  switch (callIds) {
    case 'opaque':
      return /^call_[0-9a-f]{24}$/u
    case 'nine-characters':
      return /^[0-9a-zA-Z]{9}$/u
    case 'name-and-number':
      return new RegExp(`^functions\\.${name}:${index}$`, 'u')
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
