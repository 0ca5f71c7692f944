import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  continueFrom,
  createWriter,
  promptOf,
  system,
  tokenizer,
  user,
  weather,
  type Chat,
  type FamilyName,
} from './persona-under-test.ts'
import { runs } from '#test/support/long.ts'

/** Returns the cuts after which the answer does not continue with exactly the missing tokens. */
async function brokenCuts(prompt: Uint32Array, chat: Pick<Chat, 'family' | 'constraint'>): Promise<number[]> {
  const whole = await continueFrom(prompt, chat)
  const broken: number[] = []
  for (let cut = 0; cut <= whole.length; cut++) {
    const rest = await continueFrom(Uint32Array.from([...prompt, ...whole.slice(0, cut)]), chat)
    if (rest.join() !== whole.slice(cut).join()) broken.push(cut)
  }
  return broken
}

describe('a partly written answer is continued where it ends', () => {
  const chats: Chat[] = [
    { messages: [user('Hello there, how are you?')] },
    { messages: [system('Be nice.'), user('Grüße 東京 😀🚀 – “q”  two  blanks\n\n\tand lines\n')] },
    { messages: [user('aaaa aaaa aaaa You said: You said: aaaa')] },
    { messages: [user('the weather in Paris')], tools: [weather] },
    { messages: [user('the weather in Paris')], tools: [weather], family: 'thinking' },
    { messages: [user('Hello')], family: 'thinking' },
    { messages: [user('Hello')], family: 'thinking', thinking: false },
    { messages: [user('the weather in Paris')], tools: [weather], family: 'bracketed' },
    { messages: [user('the weather in Paris')], tools: [weather], family: 'harmony' },
    { messages: [user('Hello')], family: 'harmony' },
    { messages: [user('[[tokens=200]]')] },
    { messages: [user('[[raw=invalid-utf8]]')] },
    { messages: [user('markers <|im_end|> and <think> and <tool_call>')], family: 'thinking' },
    { messages: [user('Hello')], constraint: { constraint: 'regex', regex: '[a-z]{3} [0-9]{4}' } },
  ]
  test.each(chats.map((chat) => [JSON.stringify(chat.messages.at(-1)), chat] as const))(
    '%s',
    async (_, chat) => {
      expect(await brokenCuts(await promptOf(chat), chat)).toEqual([])
    },
  )

  test('whatever the messages are', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom(
        ' ',
        '\n',
        '\n\n',
        '<|im_end|>',
        '<think>',
        '</think>',
        '<tool_call>',
        'weather',
        '东京',
        'You said: ',
      ),
    )
    const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
    const chat = fc.record({
      messages: fc.tuple(text, text).map(([first, second]) => [system(first), user(second)]),
      family: fc.constantFrom<FamilyName>('plain', 'thinking', 'bracketed', 'harmony'),
      thinking: fc.constantFrom(null, false),
      tools: fc.constantFrom([], [weather]),
    })
    await fc.assert(
      fc.asyncProperty(chat, async (given) => {
        expect(await brokenCuts(await promptOf(given), given)).toEqual([])
      }),
      { numRuns: runs(5, 20) },
    )
  })

  test('a prompt that is no chat is continued as well', async () => {
    for (const text of ['Hello raw world', '<|im_start|>user\nHi<|im_end|>\n', 'x'.repeat(300)]) {
      expect(await brokenCuts(await tokenizer.encode(text), {})).toEqual([])
    }
  })

  test('a beginning that comes back spelled in other tokens is still a beginning', async () => {
    const prompt = await promptOf({ messages: [user('Hello there')] })
    for (const begun of ['Y', 'You sai', 'You said: He', 'You said: Hello the']) {
      const rest = await continueFrom(Uint32Array.from([...prompt, ...(await tokenizer.encode(begun))]), {})
      expect(begun + tokenizer.decode(rest)).toBe('You said: Hello there')
    }
  })

  test('a beginning that someone else wrote is followed by the answer, wherever that was cut', async () => {
    const prompt = await promptOf({ messages: [user('Hello there')] })
    const begun = Uint32Array.from([...prompt, ...(await tokenizer.encode('Well, '))])
    expect(await brokenCuts(begun, {})).toEqual([])
    expect(tokenizer.decode(await continueFrom(begun, {}))).toBe('You said: Hello there')
  })
})

test('what follows where it may not end depends on the position in the answer alone', async () => {
  const write = await createWriter('plain')
  const promptIds = await promptOf({ messages: [user('Hi')] })
  const script = await write({ promptIds, constraint: null, variant: 0 })
  const length = (await continueFrom(promptIds, {})).length
  const token = (index: number) => script.at(index) ?? script.filler(index)
  const beyond = Array.from({ length: length + 40 }, (_, i) => token(i))
  for (const cut of [1, length - 1, length, length + 1, length + 25]) {
    const continued = Uint32Array.from([...promptIds, ...beyond.slice(0, cut)])
    const rest = await write({ promptIds: continued, constraint: null, variant: 0 })
    expect(rest.at(0) ?? rest.filler(0)).toBe(beyond[cut])
    expect(rest.at(5) ?? rest.filler(5)).toBe(beyond[cut + 5])
  }
})
