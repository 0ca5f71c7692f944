import { expect, it } from 'vitest'
import { parse, tokenizer } from './parse-tokens.ts'

it('counts the tokens of the thinking without its tags', async () => {
  const ids = await tokenizer.encode('<think>one two</think>three')
  const inside = await tokenizer.encode('one two')
  expect(parse([ids]).reasoningTokens).toBe(inside.length)
  const closed = await tokenizer.encode('one two</think>three')
  expect(parse([closed], { startsInReasoning: true }).reasoningTokens).toBe(inside.length)
})

it('counts no control token within the thinking, because none is in the text', async () => {
  const begin = tokenizer.tokenId('<|im_start|>')
  if (begin === null) throw new Error('the tokenizer has no <|im_start|>')
  const before = await tokenizer.encode('one')
  const behind = await tokenizer.encode(' two')
  const { events, reasoningTokens } = parse([[...before, begin, ...behind]], { startsInReasoning: true })
  expect(events).toEqual([{ type: 'reasoning-delta', text: 'one two' }])
  expect(reasoningTokens).toBe(before.length + behind.length)
})
