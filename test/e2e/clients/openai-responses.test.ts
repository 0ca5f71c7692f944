import OpenAI from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../support/books.ts'
import { LONG_TEXT, test, type ClientAccess } from '../../support/client-test.ts'

const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) => new OpenAI({ baseURL: baseUrl, apiKey, fetch })

const Weather = z.object({ city: z.string(), unit: z.enum(['celsius', 'fahrenheit']) })
const weather = zodResponsesFunction({ name: 'get_weather', parameters: Weather })

test('a response holds the conversation that arrived', async ({ access }) => {
  const response = await connect(access).responses.create({
    model: 'demo-chat',
    instructions: 'Be brief.',
    input: 'Grüß dich! 🌾',
  })
  expect(response).toMatchObject({ object: 'response', status: 'completed', model: 'demo-chat' })
  expect(response.output_text).toBe('You said: Grüß dich! 🌾\n\nBefore that:\nsystem: Be brief.')
  expect(response._request_id).toMatch(/^[0-9a-f-]{36}$/u)
  expect(response.usage?.total_tokens).toBe(
    (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
  )
})

test('the count of input tokens is that of the response', async ({ access }) => {
  const openai = connect(access)
  const call = { model: 'demo-reasoning', instructions: 'Be brief.', input: 'How long?', tools: [weather] }
  const { usage } = await openai.responses.create(call)
  expect(await openai.responses.inputTokens.count(call)).toEqual({
    object: 'response.input_tokens',
    input_tokens: usage?.input_tokens,
  })
})

test('raw events come in order, numbered, and end in the whole response', async ({ access }) => {
  const openai = connect(access)
  const call = { model: 'millrace/demo-chat', input: LONG_TEXT }
  const whole = await openai.responses.create(call)
  const events = await Array.fromAsync(await openai.responses.create({ ...call, stream: true }))
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
  const types = events.map(({ type }) => type)
  const delta = 'response.output_text.delta'
  expect(types.filter((type, index) => type !== delta || types[index - 1] !== delta)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    delta,
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  const deltas = events.flatMap((event) => (event.type === delta ? [event.delta] : []))
  expect(deltas.length).toBeGreaterThan(1)
  expect(deltas.join('')).toBe(whole.output_text)
  expect(events.at(-1)).toMatchObject({
    type: 'response.completed',
    response: { status: 'completed', usage: { output_tokens: whole.usage?.output_tokens } },
  })
})

test('the log probabilities of the text are in the response, in the events, and in the assembled stream', async ({
  access,
}) => {
  const openai = connect(access)
  const call = {
    model: 'demo-reasoning',
    input: 'Say hello, 世界 🌾.',
    reasoning: { effort: 'high' as const },
    include: ['message.output_text.logprobs' as const],
    top_logprobs: 3,
  }
  const whole = await openai.responses.create(call)
  expect(whole.top_logprobs).toBe(3)
  const [text] = textsOf(whole)
  const entries = text?.logprobs ?? []
  expect(text?.text).not.toBe('')
  expect(entries.map(({ token }) => token).join('')).toBe(text?.text)
  expect(Buffer.from(entries.flatMap(({ bytes }) => bytes)).toString()).toBe(text?.text)
  for (const { token, logprob, top_logprobs: top } of entries) {
    expect(top).toHaveLength(3)
    expect(top[0]).toMatchObject({ token, logprob })
  }

  const deltas: unknown[] = []
  const stream = openai.responses
    .stream(call)
    .on('response.output_text.delta', ({ logprobs }) => deltas.push(...logprobs))
    .on('response.output_text.done', ({ logprobs }) => expect(logprobs).toEqual(deltas))
  const assembled = textsOf(await stream.finalResponse())[0]?.logprobs ?? []
  expect(deltas).toEqual(assembled)
  expect(assembled.map(({ token }) => token).join('')).toBe(text?.text)

  const bare = await openai.responses.create({ ...call, include: [] })
  expect(textsOf(bare)[0]?.logprobs).toEqual([])
})

test('the stream helper assembles the response', async ({ access }) => {
  let text = ''
  const stream = connect(access)
    .responses.stream({ model: 'demo-chat', input: LONG_TEXT })
    .on('response.output_text.delta', ({ delta, snapshot }) => {
      text += delta
      expect(snapshot).toBe(text)
    })
  const response = await stream.finalResponse()
  expect(response.output_text).toBe(`You said: ${LONG_TEXT}`)
  expect(text).toBe(response.output_text)
})

test('parse returns a value of the schema, and so does the stream helper', async ({ access }) => {
  const openai = connect(access)
  const call = {
    model: 'demo-chat',
    input: 'In fahrenheit, please: how warm is Lisbon?',
    text: { format: zodTextFormat(Weather, 'weather') },
  }
  const expected = { city: 'Lisbon', unit: 'fahrenheit' }
  expect((await openai.responses.parse(call)).output_parsed).toEqual(expected)
  expect((await openai.responses.stream(call).finalResponse()).output_parsed).toEqual(expected)
})

for (const streamed of [false, true]) {
  test(`a tool is called and its result answered, ${streamed ? 'streamed' : 'whole'}`, async ({ access }) => {
    const openai = connect(access)
    const ask = async (input: OpenAI.Responses.ResponseInput) => {
      // This model writes reasoning, which goes back with the tool's result.
      const call = { model: 'demo-reasoning', input, tools: [weather] }
      return streamed
        ? await openai.responses.stream(call).finalResponse()
        : await openai.responses.parse(call)
    }
    const question = { role: 'user' as const, content: 'What is the weather in Paris?' }
    const first = await ask([question])
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'function_call'])
    const call = first.output.find((item) => item.type === 'function_call')
    expect(call).toMatchObject({
      name: 'get_weather',
      status: 'completed',
      parsed_arguments: { city: 'Paris', unit: 'celsius' },
    })
    const second = await ask([
      question,
      ...first.output.map(withoutParsed),
      { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sunny, 21 °C' },
    ])
    expect(second.output_text).toBe('The tool says: sunny, 21 °C')
  })
}

test('several calls of one turn keep their order and their arguments apart', async ({ access }) => {
  const time = zodResponsesFunction({ name: 'tell_time', parameters: z.object({ city: z.string() }) })
  const response = await connect(access)
    .responses.stream({
      model: 'demo-chat',
      input: 'Which weather and which time is it in Paris?',
      tools: [weather, time],
    })
    .finalResponse()
  expect(response.output).toMatchObject([
    { type: 'function_call', name: 'get_weather', parsed_arguments: { city: 'Paris' } },
    { type: 'function_call', name: 'tell_time', parsed_arguments: { city: 'Paris' } },
  ])
})

test('reasoning is an item of its own, and effort none disables it', async ({ access }) => {
  const openai = connect(access)
  const call = { model: 'demo-reasoning', input: 'Think!' }
  const thinking = await openai.responses.stream({ ...call, reasoning: { effort: 'high' } }).finalResponse()
  expect(thinking.output).toMatchObject([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: expect.stringMatching(/I answer/u) }] },
    { type: 'message' },
  ])
  expect(thinking.output_text).toBe('You said: Think!')
  expect(thinking.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  const off = await openai.responses.create({ ...call, reasoning: { effort: 'none' } })
  expect(off.output.map(({ type }) => type)).toEqual(['message'])
})

test('a response that the output limit cut is incomplete, and the stream still ends in response.completed', async ({
  access,
}) => {
  const openai = connect(access)
  const call = { model: 'demo-chat', input: 'Talk [[tokens=40]]', max_output_tokens: 16 }
  const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  expect(await openai.responses.create(call)).toMatchObject(incomplete)
  const events = await Array.fromAsync(await openai.responses.create({ ...call, stream: true }))
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: incomplete })
  expect(await openai.responses.stream(call).finalResponse()).toMatchObject(incomplete)
})

test('afterwards nothing is held and the books are balanced', async ({ cluster, account }) => {
  await expectBalancedBooks(cluster, [account])
})

/** Returns an item as the service wrote it, without the parsed values that the client's helpers add. */
function withoutParsed(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  return JSON.parse(
    JSON.stringify(item, (key, value: unknown) => (key.startsWith('parsed') ? undefined : value)),
  )
}

function textsOf({ output }: Pick<OpenAI.Responses.Response, 'output'>) {
  const contents = output.flatMap((item) => (item.type === 'message' ? item.content : []))
  return contents.filter((part) => part.type === 'output_text')
}
