import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { createChatRenderer } from '#libs/chat-template/chat-renderer.ts'
import { createTokenGuard } from '#libs/chat-template/token-guard.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'
import type { AddedToken } from '#libs/tokenizer/tokenizer.ts'
import { cpuMs } from '#test/support/cpu-time.ts'
import { runs } from '#test/support/long.ts'
import { referenceTexts, referenceTokenizers } from '../tokenizer/reference-tokenizers.ts'

const { tokenizer, template } = await createModel(await readModelFolder('models/tiny'))
const renderer = createChatRenderer(template)
const tokenTexts = tokenizer.addedTokens.map(({ text }) => text)

type Chat = { readonly messages: readonly ChatMessage[]; readonly tools: readonly ToolDefinition[] }

async function encode({ messages, tools }: Chat): Promise<Uint32Array> {
  const pieces = renderer.render({ messages, tools, switches: {} })
  const ids = await tokenizer.encodePieces(pieces)
  expect(renderer.isForged(pieces, ids)).toBe(false)
  return ids
}

/** Returns how often each of these tokens occurs in a prompt. */
async function count(chat: Chat, tokens: readonly AddedToken[]): Promise<number[]> {
  const ids = await encode(chat)
  return tokens.map(({ id }) => ids.filter((other) => other === id).length)
}

const user = (content: string): Chat => ({ messages: [{ role: 'user', content }], tools: [] })

/** Whole tokens, parts of them, and the characters around them. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...tokenTexts),
      fc
        .tuple(fc.constantFrom(...tokenTexts), fc.nat(12), fc.nat(12))
        .map(([text, from, length]) => text.slice(from, from + length)),
      fc.constantFrom(
        '<',
        '|>',
        '>',
        '/',
        '\n',
        ' ',
        '"',
        '\\',
        'a',
        '\uFDD0',
        '\uFDD1',
        '\uD800',
        '\0',
        '{}',
      ),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

type Write = (text: string) => string

/**
 * Returns a function that replaces texts by harmless ones. Equal texts stay equal and different ones different, because
 * results are paired with calls by their ids. Empty texts stay empty, because templates leave them out.
 */
function createHarmless(): Write {
  const given = new Map<string, string>()
  return (text) => {
    if (text.trim() === '') return text
    if (!given.has(text)) given.set(text, `x${given.size}`)
    return given.get(text) ?? ''
  }
}

/** A chat in which `write` replaces every text that a caller may choose. */
const chats = fc.record({
  texts: fc.array(fc.tuple(fc.constantFrom('system', 'user', 'tool', 'assistant'), hostileText), {
    minLength: 1,
    maxLength: 5,
  }),
  call: fc.tuple(hostileText, hostileText),
  tool: fc.option(fc.tuple(hostileText, hostileText, hostileText), { nil: null }),
})
type Choice = typeof chats extends fc.Arbitrary<infer T> ? T : never

function toChat({ texts, call, tool }: Choice, write: Write): Chat {
  const messages = texts.map(([role, text]): ChatMessage => {
    const content = write(text)
    if (role === 'tool') return { role, content, toolCallId: content }
    if (role !== 'assistant') return { role: role === 'user' ? role : 'system', content }
    const args = JSON.stringify({ [write(call[0])]: [write(call[1])] })
    const broken = { id: write(call[0]), name: write(call[1]), arguments: `{${write(call[0])}` }
    const whole = { id: write(call[1]), name: write(call[0]), arguments: args }
    // A model may write its own markers, so only tokens with the flag `special` are counted here.
    return { role, content, reasoning: content, toolCalls: [whole, broken] }
  })
  if (tool === null) return { messages, tools: [] }
  const [name, description, key] = tool.map(write)
  const parameters = { type: 'object', properties: { [key ?? '']: { enum: [description] } } }
  return { messages, tools: [{ name: name ?? '', description: description ?? '', parameters }] }
}

describe('control tokens', () => {
  it('are in a prompt as often as the template writes them, whatever the texts are', async () => {
    const special = tokenizer.addedTokens.filter((token) => token.special)
    await fc.assert(
      fc.asyncProperty(chats, async (choice) => {
        const harmless = toChat(choice, createHarmless())
        expect(
          await count(
            toChat(choice, (text) => text),
            special,
          ),
        ).toEqual(await count(harmless, special))
      }),
      { numRuns: runs(60, 300) },
    )
  })

  it('that are not flagged special cannot be written by users, tools and definitions either', async () => {
    await fc.assert(
      fc.asyncProperty(chats, async (choice) => {
        const texts = choice.texts.filter(([role]) => role !== 'assistant')
        fc.pre(texts.length > 0)
        const harmless = toChat({ ...choice, texts }, createHarmless())
        const given = toChat({ ...choice, texts }, (text) => text)
        expect(await count(given, tokenizer.addedTokens)).toEqual(
          await count(harmless, tokenizer.addedTokens),
        )
      }),
      { numRuns: runs(60, 300) },
    )
  })

  it.for(tokenTexts)('typed as %s reach the model as text', async (text) => {
    const said = `a ${text} b`
    expect(tokenizer.decode(await encode(user(said)))).toContain(`user\n${said}<|im_end|>`)
  })

  it('that a model wrote itself come back as tokens', async () => {
    const content = '<think>\nhm\n</think>\n\nyes'
    const ids = await encode({
      messages: [{ role: 'assistant', content, reasoning: '', toolCalls: [] }],
      tools: [],
    })
    expect(ids).toContain(tokenizer.tokenId('<think>'))
    expect(ids).toContain(tokenizer.tokenId('</think>'))
  })
})

describe.for(referenceTokenizers)('with a tokenizer of the kind $kind', async ({ folder }) => {
  const { tokenizer: other, template: own } = await createModel(await readModelFolder(folder))
  const { render, isForged } = createChatRenderer({ ...own, source: template.source })
  const texts = other.addedTokens.map(({ text }) => text)
  const controls = other.addedTokens.filter((token) => token.special && token.isUnknown !== true)

  async function countControls({ messages, tools }: Chat): Promise<number[] | 'refused'> {
    const pieces = render({ messages, tools, switches: {} })
    const ids = await other.encodePieces(pieces)
    if (isForged(pieces, ids)) return 'refused'
    return controls.map(({ id }) => ids.filter((found) => found === id).length)
  }

  const written = fc
    .array(
      fc.oneof(
        fc.constantFrom(...texts),
        fc
          .tuple(fc.constantFrom(...texts), fc.nat(9), fc.nat(9))
          .map(([text, from, length]) => text.slice(from, from + length)),
        // The compatibility forms that some normalizers turn into ASCII.
        fc.constantFrom(...texts).map((text) => text.replaceAll(/[!-~]/g, toFullWidth)),
        fc.constantFrom('<', '>', '[', ']', ' ', '/s>', '▁', '\uD800', 'a', '😀'),
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join(''))

  it('no text becomes a control token: it is text, or the chat is refused', async () => {
    const harmless = await countControls(user('x'))
    const outcomes = new Map<string, number>()
    const count = runs(100, 400)
    await fc.assert(
      fc.asyncProperty(written, async (text) => {
        const counted = await countControls(user(`${text}.`))
        const outcome = counted === 'refused' ? counted : JSON.stringify(counted)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }),
      { numRuns: count },
    )
    expect(new Set(['refused', ...outcomes.keys()])).toEqual(new Set(['refused', JSON.stringify(harmless)]))
    expect(outcomes.get('refused') ?? 0).toBeLessThan(0.75 * count)
  })

  it('no text is refused for characters that the vocabulary lacks', async () => {
    const ordinary = referenceTexts.filter((text) => !/[<[＜]/u.test(text))
    expect(ordinary.length).toBeGreaterThan(150)
    for (const text of ordinary)
      expect({ text, counted: await countControls(user(text)) }).not.toMatchObject({ counted: 'refused' })
  })
})

const toFullWidth = (character: string) => String.fromCodePoint((character.codePointAt(0) ?? 0) + 0xfee0)

describe('ordinary text', () => {
  it('has the same ids as without a guard', async () => {
    const ordinary = fc.string({
      unit: fc.constantFrom('a', '<', '>', '|', '/', '\n', ' ', '"', 'é', '\u0301'),
    })
    await fc.assert(
      fc.asyncProperty(ordinary, async (text) => {
        fc.pre(!tokenTexts.some((token) => text.includes(token)))
        const prompt = `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`
        expect(await encode(user(text))).toEqual(await tokenizer.encode(prompt))
      }),
      { numRuns: runs(100, 500) },
    )
  })

  it('loses lone surrogates, and the two noncharacters that stand for breaks, to U+FFFD', async () => {
    expect(tokenizer.decode(await encode(user('a\uD800b\uDC00c\uFDD0d\uFDD1e 😀')))).toContain(
      'a\uFFFDb\uFFFDc\uFFFDd\uFFFDe 😀',
    )
  })
})

describe('tokens that a template puts together', () => {
  const tokens = ['<think>', '<|end|>', '[A]', '[A][B]'].map((text, id) => ({ id, text, special: id > 0 }))

  function pieces(source: string, parameters: Record<string, unknown>): string[] {
    const { render } = createChatRenderer({ source, specialTokens: {}, addedTokens: tokens })
    const tool = { name: 'f', description: null, parameters }
    return render({ messages: [{ role: 'user', content: '<|end' }], tools: [tool], switches: {} })
  }

  const eachKey = (text: string) => `{% for key in tools[0].function.parameters %}${text}{% endfor %}`

  it("around a caller's key are split", () => {
    expect(pieces(eachKey('<{{ key }}>'), { think: 1 })).toEqual(['<', 'think', '>'])
  })

  it("at the end and at the beginning of a caller's text are split", () => {
    expect(pieces('{{ messages[0].content }}|> x', {})).toEqual(['<|end', '|> x'])
    expect(pieces('a{{ messages[0].content | trim }}|>{{ messages[0].content }}', {})).toEqual([
      'a<|end',
      '|><|end',
    ])
    expect(pieces(eachKey('[A]{{ key }}.'), { '[B]': 1 })).toEqual(['[A]', '[B].'])
    expect(pieces(eachKey('{{ key }}'), { '<|e': 1, 'nd|>': 2 })).toEqual(['<|e', 'nd|>'])
  })

  it('from the template alone stay whole, and so do texts that resemble a token', () => {
    expect(pieces(eachKey('<think>{{ key }}<|end|>'), { 'a <': 1 })).toEqual(['<think>a <<|end|>'])
    expect(pieces(eachKey('< {{ key }} >'), { think: 1 })).toEqual(['< think >'])
  })

  it('leave names that the template compares with unchanged', () => {
    const template = "{{ tools[0].function.parameters.think }}{{ '<' + 'b' + '>' }}"
    expect(pieces(template, { think: 7 })).toEqual(['7<b>'])
  })
})

describe('a vocabulary', () => {
  const guard = (texts: readonly string[]) =>
    createTokenGuard({
      addedTokens: texts.map((text, id) => ({ id, text, special: false })),
      source: '',
    })

  it('may hold blanks, letters and words as added tokens: they are text', () => {
    const text = 'a  b ö word'
    expect(guard(['  ', 'ö', 'word', '\n\n']).guardText(text, 'all')).toBe(text)
  })

  it('must not have a special token that cannot be split', () => {
    const addedTokens = [{ id: 0, text: '§', special: true }]
    expect(() => createTokenGuard({ addedTokens, source: '' })).toThrow(/cannot be distinguished from text/)
  })

  it('that reads other characters as a token is detected', () => {
    const { isForged, toPieces, guardText } = guard(['<K>'])
    const pieces = toPieces(guardText('<\u212A>', 'all'))
    expect(isForged(pieces, Uint32Array.of(9, 0))).toBe(true)
    expect(isForged(['<K>'], Uint32Array.of(9, 0))).toBe(false)
  })
})

describe('a megabyte', () => {
  const many = Array.from({ length: 300 }, (_, id) => ({
    id,
    text: `<|reserved_special_token_${id}|>`,
    special: true,
  }))
  const { guardText, toPieces } = createTokenGuard({ addedTokens: many, source: '' })

  it.for(['<', '<|', '<|reserved_special_token_', '<|reserved_special_token_299|>', 'word '])(
    'of %s is guarded in linear time',
    (part) => {
      const text = part.repeat(Math.ceil(1_000_000 / part.length))
      const startedMs = cpuMs()
      expect(toPieces(guardText(text, 'all')).join('')).toBe(text)
      // This takes about 20 ms. With quadratic work it would take minutes.
      expect(cpuMs() - startedMs).toBeLessThan(3_000)
    },
  )

  it('of one-character texts in a deep list is guarded, and a deeper list than can be printed is refused', () => {
    const { guardJson } = createTokenGuard({ addedTokens: many, source: '' })
    const list = Array.from({ length: 100_000 }, () => '<')
    expect(guardJson(list)).toHaveLength(100_000)
    let deep: unknown = 'x'
    for (let level = 0; level < 101; level++) deep = [deep]
    expect(() => guardJson(deep)).toThrow(RangeError)
  })
})
