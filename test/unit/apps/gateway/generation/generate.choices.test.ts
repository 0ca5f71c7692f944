import { expect, test } from 'vitest'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import type { ChoiceEnd, GenerationError, GenerationEvent } from '#libs/contracts/generation-event.ts'
import { claimed, end, setUp, text } from './generate-under-test.ts'

// Requests for several answers.

/** Collects the output of each choice, by the choice's number. */
async function collectChoices(events: ReturnType<typeof setUp>['events']) {
  const byChoice: OutputEvent[][] = []
  await events((batch, choice = 0) => void (byChoice[choice] ??= []).push(...batch))
  return byChoice
}

const choice = (number: number): GenerationEvent => ({ type: 'choice', choice: number })
const choiceEnd = (completionTokens: number, reasoningTokens = 0): ChoiceEnd => ({
  type: 'choice-end',
  finishReason: 'length',
  usage: { promptTokens: 3, cachedTokens: 0, completionTokens, reasoningTokens },
})
const cut = (completionTokens: number) => ({ ...end(completionTokens), finishReason: 'length' })
const broken: GenerationError = { type: 'generation-error', code: 'upstream_error', message: 'No.' }

test('one generation makes all choices, and its settlement counts the prompt once and the output of all', async () => {
  const { events, generations, log, settled } = setUp({
    call: { choices: 2 },
    epochs: [
      (send) =>
        send([
          claimed(),
          [text('o'), [1]],
          [choice(1), [1, 2]],
          text('two'),
          [choice(0), [2]],
          text('ne'),
          choiceEnd(2),
          [choice(1), [3, 4, 5]],
          end(5),
        ]),
    ],
  })
  expect(await collectChoices(events)).toEqual([
    [text('o'), text('ne'), cut(2)],
    // The end that comes last has the usage of the request.
    [text('two'), end(7)],
  ])
  expect(log.filter((entry) => /^(admit|reserve|queue)/.test(entry))).toEqual(['admit', 'reserve', 'queue'])
  expect(generations.map(({ job }) => [job.id, job.choices])).toEqual([[expect.any(String), 2]])
  expect(settled).toMatchObject([{ outcome: 'completed', promptTokens: 3, completionTokens: 7 }])
})

test('a lost worker interrupts the open choices: they go on elsewhere, the ended one keeps its end', async () => {
  const continued: unknown[] = []
  const { events, settled } = setUp({
    call: { choices: 3 },
    epochs: [
      (send, inbox) => {
        send([claimed(), [text('one'), [1]], choiceEnd(1, 1), [choice(2), [7, 8]], text('thr')])
        inbox.lose('worker-dead')
      },
      (send, inbox) => {
        continued.push(inbox.choices(), [...inbox.ids()])
        const after = inbox.idCount()
        send([claimed({ worker: 'worker-2', after }), [choice(1), [4]], text('two'), choiceEnd(1)])
        send([[choice(2), [9]], text('ee'), end(3)])
      },
    ],
  })
  expect(await collectChoices(events)).toEqual([
    [text('one'), { ...cut(1), usage: choiceEnd(1, 1).usage }],
    [text('two'), cut(1)],
    [text('thr'), text('ee'), { ...end(5), usage: { ...choiceEnd(5, 1).usage } }],
  ])
  const open = { count: 0, ended: false }
  expect(continued).toEqual([
    [{ count: 1, ended: true }, open, { count: 2, ended: false }],
    [1, 7, 8],
  ])
  expect(settled).toMatchObject([{ outcome: 'completed', epoch: 2, promptTokens: 3, completionTokens: 5 }])
})

test('choices under a grammar begin anew, but not those that have ended', async () => {
  const { events } = setUp({
    call: { choices: 2, streamed: false },
    epochs: [
      (send, inbox) => {
        send([claimed({ guided: true }), [text('{}'), [1]], choiceEnd(1), [choice(1), [2]], text('{"a')])
        inbox.lose('worker-dead')
      },
      (send) => send([claimed({ after: 1, guided: true }), [choice(1), [3]], text('[]'), end(1)]),
    ],
  })
  expect(await collectChoices(events)).toEqual([
    [text('{}'), cut(1)],
    [text('[]'), end(2)],
  ])
})

test('if one choice fails, the request fails and costs nothing, whatever had ended', async () => {
  const { events, settled } = setUp({
    call: { choices: 2 },
    epochs: [(send) => send([claimed(), [text('one'), [1, 2]], choiceEnd(2), broken])],
  })
  await expect(collectChoices(events)).rejects.toThrow('No.')
  expect(settled.map(({ outcome }) => outcome)).toEqual(['fault'])
})

test('a caller who leaves pays for the prompt and for what all choices have given', async () => {
  const leaving = new AbortController()
  const { events, settled } = setUp({
    call: { choices: 3, signal: leaving.signal },
    epochs: [(send) => send([claimed(), [text('one'), [1, 2]], choiceEnd(2), [choice(1), [1]], text('two')])],
  })
  const answers: string[] = []
  await events((batch) => {
    answers.push(batch.map((event) => ('text' in event ? event.text : '')).join(''))
    if (answers.length === 2) leaving.abort()
  })
  expect(answers).toEqual(['one', 'two'])
  expect(settled).toMatchObject([{ outcome: 'cancelled', promptTokens: 3, completionTokens: 3 }])
})

test('the cost that an answer reports is that of the whole request, with one rounding', async () => {
  const { events } = setUp({
    showsCost: true,
    call: { choices: 2 },
    epochs: [(send) => send([claimed(), choiceEnd(1), choice(1), end(1)])],
  })
  const [first, second] = await collectChoices(events)
  expect(first?.at(-1)).not.toHaveProperty('usage.costNano')
  // 3 tokens of prompt for 1 nano-credit each, and 1 token of output of each choice for 2.
  expect(second?.at(-1)).toHaveProperty('usage.costNano', 7n)
})
