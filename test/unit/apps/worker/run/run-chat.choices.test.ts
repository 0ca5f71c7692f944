import { expect, test } from 'vitest'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { END, processUnderTest } from '../process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')

test.for([
  [undefined, 5, undefined],
  [7, undefined, 7],
  [7, 5, 12],
  [2 ** 31 - 2, 3, 1],
] as const)('with seed %s, choice %s has the seed %s', async ([seed, choice, expected]) => {
  const { request } = generationJob()
  const { requests } = await processUnderTest(tokenizer, {
    job: { request: { ...request, sampling: { seed } }, choice },
    async *engine() {
      yield END
    },
  })
  expect(requests[0]?.sampling.seed).toBe(expected)
})
