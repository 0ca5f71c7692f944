import { expect, test } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { EngineError } from '#apps/worker/engine/engine-error.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { END, processUnderTest, tokens } from '../process-under-test.ts'

// Requests for several answers.

const tokenizer = await loadTokenizer('models/tiny')

const encode = async (text: string) => Array.from(await tokenizer.encode(text))
const choiceOf = ({ requestId }: { readonly requestId: string }) =>
  Number(/-1-(\d)$/.exec(requestId)?.[1] ?? 0)
const turn = async () => await new Promise((resolve) => setImmediate(resolve))

/** Returns the token ids and the last event of each choice, as a gateway sorts them. */
function sort(
  groups: readonly (readonly { readonly event: GenerationEvent; readonly ids: readonly number[] }[])[],
) {
  const choices: { ids: number[]; text: string; end?: GenerationEvent }[] = []
  let present = 0
  for (const { event, ids } of groups.flat()) {
    if (event.type === 'choice') present = event.choice
    const choice = (choices[present] ??= { ids: [], text: '' })
    choice.ids.push(...ids)
    if (event.type === 'text-delta') choice.text += event.text
    if (event.type === 'choice-end' || event.type === 'generation-end') choice.end = event
  }
  return choices
}

test('with a seed, each choice has a seed of its own; all have one prompt and their own id', async () => {
  const { request } = generationJob()
  const { requests } = await processUnderTest(tokenizer, {
    job: { id: 'g1', request: { ...request, sampling: { seed: 2 ** 31 - 2 } }, choices: 3 },
    async *engine() {
      yield END
    },
  })
  expect(requests.map(({ requestId, sampling }) => [requestId, sampling.seed])).toEqual([
    ['g1-1', 2 ** 31 - 2],
    ['g1-1-1', 2 ** 31 - 1],
    ['g1-1-2', 0],
  ])
  expect(new Set(requests.map(({ promptIds }) => promptIds)).size).toBe(1)
})

test('every token and its text belong to their choice; the last end is the end of the generation', async () => {
  const texts = ['one two three', 'four five six seven', 'eight']
  const whole = await Promise.all(texts.map(encode))
  const { groups, seen, events } = await processUnderTest(tokenizer, {
    job: { choices: 3 },
    async *engine(_, request) {
      for (const id of whole[choiceOf(request)] ?? []) {
        yield tokens([id])
        await turn()
      }
      yield END
    },
  })
  const choices = sort(groups)
  expect(choices.map(({ ids, text }) => ({ ids, text }))).toEqual(
    whole.map((ids, index) => ({ ids, text: texts[index] })),
  )
  expect(choices.map(({ end }) => end)).toMatchObject(
    whole.map((ids, index) => ({
      type: index === 1 ? 'generation-end' : 'choice-end',
      usage: { promptTokens: 3, completionTokens: ids.length },
    })),
  )
  expect(events.at(-1)?.type).toBe('generation-end')
  expect(seen.choiceEnds).toBe(2)
})

test('after a lost worker each open choice continues after its own ids, and an ended one is not called', async () => {
  const [first, second, third] = await Promise.all(['done', 'four five six', 'seven eight nine'].map(encode))
  if (first === undefined || second === undefined || third === undefined) throw new Error('three texts')
  const { requests, groups, events } = await processUnderTest(tokenizer, {
    job: { id: 'g1', choices: 3 },
    claimed: {
      promptTokens: 3,
      ids: Uint32Array.from([...first, ...second.slice(0, 2), ...third.slice(0, 1)]),
      choices: [
        { count: first.length, ended: true },
        { count: 2, ended: false },
        { count: 1, ended: false },
      ],
    },
    async *engine(_, request) {
      yield tokens(choiceOf(request) === 1 ? second.slice(2) : third.slice(1))
      yield END
    },
  })
  expect(
    requests.map(({ requestId, promptIds, maxTokens }) => [requestId, promptIds.length, maxTokens]),
  ).toEqual([
    ['g1-1-1', 5, 98],
    ['g1-1-2', 4, 99],
  ])
  expect(events[0]).toMatchObject({ type: 'generation-claimed', after: first.length + 3 })
  const [none, ...others] = sort(groups)
  expect(none?.ids).toEqual([])
  expect(others.map(({ ids, end }) => [ids, end])).toMatchObject([
    [second.slice(2), { type: 'choice-end', usage: { completionTokens: second.length } }],
    [third.slice(1), { type: 'generation-end', usage: { completionTokens: third.length } }],
  ])
})

test('one hold pays for all: a choice that ends early leaves its tokens to the other one', async () => {
  const [short = [], long = []] = await Promise.all(['one', 'one two three four five six seven'].map(encode))
  const hold = {
    ...generationJob().hold,
    amountNano: String(3 + 2 * (short.length + 5)),
    outputTokens: 100,
    clamped: true,
  }
  const { groups, seen } = await processUnderTest(tokenizer, {
    job: { hold, choices: 2 },
    async *engine(run, request) {
      if (choiceOf(request) === 0) yield tokens(short)
      else {
        run.onHold?.({ amountNano: hold.amountNano, isFinal: true })
        yield tokens(long)
      }
      yield END
    },
  })
  const choices = sort(groups)
  expect(choices.map(({ ids }) => ids)).toEqual([short, long.slice(0, 5)])
  expect(choices[1]?.end).toMatchObject({ finishReason: 'length', usage: { completionTokens: 5 } })
  expect(seen.moneyEnds).toBe(1)
})

test('if one call fails, the others are stopped and the request fails', async () => {
  let going = 0
  const { events, groups } = await processUnderTest(tokenizer, {
    job: { choices: 3 },
    async *engine(_, request) {
      if (choiceOf(request) === 0) yield tokens(await encode('one'))
      if (choiceOf(request) === 0) return yield END
      for (; going < 1_000; going += 1) {
        yield tokens(await encode('two'))
        await turn()
        if (choiceOf(request) === 2) throw new EngineError('failed', 'broken')
      }
    },
  })
  expect(going).toBeLessThan(10)
  expect(sort(groups)[0]?.end).toMatchObject({ type: 'choice-end' })
  expect(events.at(-1)).toMatchObject({ type: 'generation-error', code: 'upstream_error' })
})

test('at the deadline every choice ends as it is', async () => {
  const { groups } = await processUnderTest(tokenizer, {
    job: { choices: 2 },
    async *engine(run) {
      yield tokens(await encode('one'))
      await turn()
      run.stop('deadline')
      yield tokens(await encode('two'))
    },
  })
  expect(sort(groups).map(({ text, end }) => [text, end])).toMatchObject([
    ['one', { finishReason: 'length' }],
    ['one', { finishReason: 'length' }],
  ])
})

test('the other choices of a large prompt begin when the first one has output', async () => {
  const order: string[] = []
  const ids = Uint32Array.from({ length: 2_100 }, (_, at) => at % 900)
  await processUnderTest(tokenizer, {
    job: { choices: 3, hold: { ...generationJob().hold, amountNano: '1000000' } },
    render: async () => ({ tail: 'Hello', ids }),
    async *engine(_, request) {
      order.push(`call ${choiceOf(request)}`)
      await turn()
      yield tokens(await encode('one'))
      order.push(`output ${choiceOf(request)}`)
      yield END
    },
  })
  expect(order.slice(0, 2)).toEqual(['call 0', 'output 0'])
  expect(order).toHaveLength(6)
})
