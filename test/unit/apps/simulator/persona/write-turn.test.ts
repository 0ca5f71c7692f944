import { expect, test } from 'vitest'
import { writeTurn } from '#apps/simulator/persona/write-turn.ts'

const both = { open: '<t>', close: '</t>', answer: { open: '<a>', close: '</a>' } }
const tags = { open: '[THINK]', close: '[/THINK]' }

test.each([
  ['none', null, 'text', 'Yes.'],
  [tags, null, 'text', 'Yes.'],
  [tags, 'Hm.', 'text', '[THINK]\nHm.\n[/THINK]\n\nYes.'],
  [tags, 'Hm.', 'calls', '[THINK]\nHm.\n[/THINK]\n\nYes.'],
  [tags, 'Hm.', 'constrained', '[THINK]\nHm.\n[/THINK]Yes.'],
  [both, null, 'text', 'Yes.'],
  [both, 'Hm.', 'text', '<t>\nHm.\n</t>\n\n<a>Yes.</a>'],
  [both, 'Hm.', 'calls', '<t>\nHm.\n</t>\n\nYes.'],
  [both, 'Hm.', 'constrained', '<t>\nHm.\n</t>Yes.'],
  ['harmony', null, 'text', '<|channel|>final<|message|>Yes.'],
  [
    'harmony',
    'Hm.',
    'text',
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.',
  ],
  ['harmony', 'Hm.', 'calls', '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistantYes.'],
  ['harmony', 'Hm.', 'constrained', 'Yes.'],
] as const)('%j with the thought %j and an answer of %s', (...[reasoning, thought, kind, turn]) => {
  expect(writeTurn(reasoning, { thought, answer: { kind, text: 'Yes.' } })).toBe(turn)
})
