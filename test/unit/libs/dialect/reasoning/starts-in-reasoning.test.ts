import { expect, it } from 'vitest'
import { startsInReasoning } from '#libs/dialect/reasoning/starts-in-reasoning.ts'

it('is true when the prompt ends with an open tag', () => {
  expect(startsInReasoning('<|im_start|>assistant\n<think>\n', '<think>')).toBe(true)
  expect(startsInReasoning('<|assistant|><think>', '<think>')).toBe(true)
})

it('is false when the template closed the tag or never opened it', () => {
  expect(startsInReasoning('<|im_start|>assistant\n<think>\n\n</think>\n\n', '<think>')).toBe(false)
  expect(startsInReasoning('<|im_start|>assistant\n', '<think>')).toBe(false)
})

it('ignores a tag that a caller wrote', () => {
  expect(
    startsInReasoning('<|im_start|>user\nwhat is <think><|im_end|>\n<|im_start|>assistant\n', '<think>'),
  ).toBe(false)
})
