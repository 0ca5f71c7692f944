import { expect, test } from 'vitest'
import { createPrefills, type Prefills } from '#apps/worker/run/prefills.ts'
import { createSentPrefixes } from '#apps/worker/run/sent-prefixes.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { END, processUnderTest, PROMPT, tokens } from '../process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')

const encode = async (text: string) => Array.from(await tokenizer.encode(text))

/** Notes the numbers of tokens with which runs wait for the long prompts in the engine, and the runs that ended. */
function notedPrefills() {
  const asked: number[] = []
  const steps: string[] = []
  const prefills: Prefills = {
    begin: async (_, count) => void asked.push(count),
    end: () => void steps.push('computed'),
  }
  return { prefills, asked, steps }
}

test('a prompt waits for long prompts in the engine, except for its tokens that the engine has had', async () => {
  const { prefills, asked, steps } = notedPrefills()
  const sentPrefixes = createSentPrefixes()
  const long = Uint32Array.from({ length: 3_200 }, (_, i) => i)
  const ask = async (count: number) =>
    await processUnderTest(tokenizer, {
      prefixTenant: 'a',
      sentPrefixes,
      prefills,
      render: async () => ({ ...PROMPT, ids: long.slice(0, count) }),
      async *engine() {
        steps.push('called')
        yield tokens(await encode('one'))
        steps.push('passed on')
        yield END
      },
    })
  await ask(1_600)
  await ask(3_200)
  expect(asked).toEqual([1_600, 1_600])
  const each = ['called', 'computed', 'passed on', 'computed']
  expect(steps).toEqual([...each, ...each])
})

test('an interrupted generation does not wait for long prompts in the engine', async () => {
  const { prefills, asked } = notedPrefills()
  await processUnderTest(tokenizer, {
    claimed: { epoch: 2, ids: Uint32Array.from(await encode('one')), promptTokens: 3 },
    prefills,
    async *engine() {
      yield END
    },
  })
  expect(asked).toEqual([])
})

test('a run that ends without a token makes room for the next long prompt', async () => {
  const prefills = createPrefills(1)
  const ask = async () =>
    await processUnderTest(tokenizer, {
      prefills,
      render: async () => ({ ...PROMPT, ids: Uint32Array.from({ length: 3_200 }, (_, i) => i) }),
    })
  await ask()
  const { requests } = await ask()
  expect(requests).toHaveLength(1)
})
