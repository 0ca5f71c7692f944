import { expect, it } from 'vitest'
import { collect } from '#apps/gateway/generation/output/collect.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { TextLogprobs } from '#apps/gateway/generation/output/text-logprobs.ts'
import { toTokenText } from '#apps/worker/run/logprobs/token-text.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import {
  createParser,
  forced,
  readFamily,
  recordings,
  tokenizer,
} from '../../../../libs/dialect/parse-tokens.ts'

type Step = { tokens: string[]; text?: string; begins?: boolean; other?: true }

/** Returns the tokens of each delta of text. */
function takeAll(steps: readonly Step[]): string[][] {
  const logprobs = new TextLogprobs()
  return steps.flatMap(({ tokens, text, begins = false, other }) => {
    logprobs.push(tokens.map((token) => ({ token, logprob: -1, top: [] })))
    if (other === true) logprobs.drop()
    return text === undefined ? [] : [logprobs.take(text, { begins }).map(({ token }) => token)]
  })
}

it.each<[name: string, steps: Step[], taken: string[][]]>([
  [
    'each token belongs to the delta that shows it',
    [
      { tokens: ['You'], text: 'You', begins: true },
      { tokens: [' said'], text: ' said' },
    ],
    [['You'], [' said']],
  ],
  [
    'the tokens of reasoning and the tags around it belong to no text',
    [
      { tokens: ['<think>', 'hm'], other: true },
      { tokens: ['</think>', '\n\n', 'Hi'], text: 'Hi', begins: true },
    ],
    [['Hi']],
  ],
  [
    'a tag that contains the text is still a tag',
    [{ tokens: ['<|channel|>', 'final', '<|message|>', 'final'], text: 'final', begins: true }],
    [['final']],
  ],
  [
    'tokens whose text was buffered come with the text',
    [{ tokens: ['<'] }, { tokens: ['b'] }, { tokens: ['r>'], text: '<br>', begins: true }],
    [['<', 'b', 'r>']],
  ],
  [
    'a token that ends in buffered text belongs to the delta that shows its beginning',
    [
      { tokens: ['a<'], text: 'a', begins: true },
      { tokens: ['b'], text: '<b' },
    ],
    [['a<'], ['b']],
  ],
  [
    'buffered text at the end does not take the token of the end',
    [
      { tokens: ['a<'], text: 'a', begins: true },
      { tokens: ['</s>'], text: '<' },
    ],
    [['a<'], []],
  ],
  [
    'a repetition that is buffered, because it may begin a stop string, is not lost',
    [
      { tokens: ['</think>', 'ab', 'ab', 'ab'], text: 'ab', begins: true },
      { tokens: ['ab'], text: 'ab' },
      { tokens: ['</s>'], text: 'abab' },
    ],
    [['ab'], ['ab'], ['ab', 'ab']],
  ],
  [
    'within a text, its first occurrence counts: the rest is buffered',
    [
      { tokens: ['x'], text: 'x', begins: true },
      { tokens: ['b', 'a', 'b'], text: 'b' },
      { tokens: ['c'], text: 'abc' },
    ],
    [['x'], ['b'], ['a', 'b', 'c']],
  ],
  [
    'the tokens of one character come together',
    [
      { tokens: ['a'], text: 'a', begins: true },
      { tokens: ['', '', '🌾'], text: '🌾' },
    ],
    [['a'], ['', '', '🌾']],
  ],
  [
    'a space comes with the beginning of a character, if it is a part of the same token',
    [
      { tokens: ['a'], text: 'a', begins: true },
      { tokens: [''], text: ' ' },
      { tokens: [''] },
      { tokens: [' 🌾'], text: '🌾' },
    ],
    [['a'], [''], ['', ' 🌾']],
  ],
  [
    'a special token within the text is not part of it',
    [{ tokens: ['a'], text: 'a', begins: true }, { tokens: ['<|end|>'] }, { tokens: ['b'], text: 'b' }],
    [['a'], ['b']],
  ],
  [
    'a token may lack the space before it',
    [
      { tokens: ['</think>', 'Hi'], text: ' Hi', begins: true },
      { tokens: ['there'], text: ' there' },
    ],
    [['Hi'], ['there']],
  ],
  [
    'dropped tokens do not come back with a text that is not found in its tokens',
    [
      { tokens: ['hm'], other: true },
      { tokens: ['b'], text: '\uFFFDb', begins: true },
    ],
    [['b']],
  ],
  [
    'tokens whose texts differ from the output are not lost',
    [{ tokens: ['a'], text: 'a', begins: true }, { tokens: [''] }, { tokens: ['b'], text: '\uFFFDb' }],
    [['a'], ['', 'b']],
  ],
])('%s', (_, steps, taken) => {
  expect(takeAll(steps)).toEqual(taken)
})

const END: OutputEvent = {
  type: 'generation-end',
  finishReason: 'stop',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
}

const isOutput = (event: GenerationEvent): event is OutputEvent =>
  event.type === 'text-delta' ||
  event.type === 'reasoning-delta' ||
  event.type === 'tool-call-start' ||
  event.type === 'tool-call-delta'

/** Returns each text of an output with its tokens, as a worker sends them. */
async function textsOf(ids: readonly number[], family: string) {
  const parser = createParser({ family: readFamily(family) })
  const { parts } = await collect(async (send) => {
    for (const [at, id] of ids.entries()) {
      const token = toTokenText(tokenizer, id, ids.slice(Math.max(0, at - 4), at))
      const { events, stopped } = parser.push([id])
      send([
        { type: 'token-logprobs', tokens: [{ token, logprob: -at, top: [] }] },
        ...events.filter(isOutput),
      ])
      if (stopped) break
    }
    send([...parser.finish().filter(isOutput), END])
  })
  return parts.flatMap((part) => (part.type === 'text' ? [part] : []))
}

const FAMILIES = ['qwen3', 'hermes', 'gpt-oss', 'granite3.3', 'mistral', 'deepseek-r1']

it.each(FAMILIES)(
  'each text of a recorded output has its tokens and no others, with the parser of %s',
  async (family) => {
    const outputs = [...recordings, ...forced].map(({ chunks }) => chunks.flat())
    const texts = (await Promise.all(outputs.map(async (ids) => await textsOf(ids, family)))).flat()
    expect(texts.length).toBeGreaterThan(40)
    for (const { text, logprobs = [] } of texts) {
      const tokens = logprobs.map(({ token }) => token)
      expect(tokens.join('')).toContain(text)
      // The beginning of a character, whose text is empty, comes with the token that completes the character.
      const beginnings = logprobs.filter(({ token }) => token === '')
      const next = logprobs.filter((_, at) => tokens[at - 1] === '')
      expect(next.map(({ logprob }) => logprob + 1)).toEqual(beginnings.map(({ logprob }) => logprob))
      // Only the first token and the last one may have characters of tags or calls as well.
      expect(text).toContain(tokens.slice(1, -1).join(''))
    }
  },
)
