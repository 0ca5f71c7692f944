import { appendFileSync } from 'node:fs'
import { test } from 'vitest'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { END, processUnderTest, tokens } from '../process-under-test.ts'
import { appendEntry, startFrame } from '#libs/event-bus/frame.ts'

const tokenizer = await loadTokenizer('models/tiny')
const encode = async (text: string) => Array.from(await tokenizer.encode(text))
const small = { ...generationJob().hold, amountNano: '13', outputTokens: 5 }

test('golden', async () => {
  const whole = await encode('one two three four five six seven eight nine ten Grüße 🌾 eleven')
  const cases: any[] = [
    { async *engine() { for (const id of whole) yield tokens([id], 2); yield END } },
    { async *engine() { yield tokens(whole); yield { ...END, finishReason: 'length' } } },
    { job: { request: { ...generationJob().request, stop: ['five'] } }, async *engine() { yield tokens(whole) ; yield END } },
    { claimed: { ids: Uint32Array.from(whole.slice(0, 4)), promptTokens: 3, epoch: 2 }, async *engine() { for (const id of whole.slice(4)) yield tokens([id]); yield END } },
    { job: { hold: small }, async *engine(run: any) { for (const [at, id] of whole.entries()) { if (at === 4) run.onHold?.({ amountNano: '103', isFinal: false }); yield tokens([id]) } yield END } },
    { job: { hold: small }, async *engine(run: any) { yield tokens(whole); setImmediate(() => run.onHold?.({ amountNano: '23', isFinal: false })); setTimeout(() => run.onHold?.({ amountNano: '23', isFinal: true }), 20); yield END } },
    { job: { request: { ...generationJob().request, topLogprobs: 0 } }, async *engine() { for (const id of whole) yield { ...tokens([id]), logprobs: [{ logprob: -0.5, topIds: [], topLogprobs: [] }] }; yield END } },
    { async *engine(run: any) { yield tokens(whole.slice(0, 3)); run.stop('worker-stopping'); yield tokens(whole.slice(3)); yield END } },
  ]
  for (const given of cases) {
    const { groups } = await processUnderTest(tokenizer, given)
    for (const group of groups) {
      const parts = startFrame('worker-1', 1)
      for (const entry of group) appendEntry(parts, entry)
      appendFileSync(process.env['GOLDEN'] ?? '/tmp/golden.out', JSON.stringify(parts) + '\n')
    }
    appendFileSync(process.env['GOLDEN'] ?? '/tmp/golden.out', '---\n')
  }
})
