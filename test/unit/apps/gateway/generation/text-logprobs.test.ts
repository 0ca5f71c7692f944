import { expect, it } from 'vitest'
import { TextLogprobs } from '#apps/gateway/generation/text-logprobs.ts'

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
    'the tokens of one character come together',
    [
      { tokens: ['a'], text: 'a', begins: true },
      { tokens: ['', '', '🌾'], text: '🌾' },
    ],
    [['a'], ['', '', '🌾']],
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
    'tokens whose texts differ from the output are not lost',
    [{ tokens: ['a'], text: 'a', begins: true }, { tokens: [''] }, { tokens: ['b'], text: '\uFFFDb' }],
    [['a'], ['', 'b']],
  ],
])('%s', (_, steps, taken) => {
  expect(takeAll(steps)).toEqual(taken)
})
