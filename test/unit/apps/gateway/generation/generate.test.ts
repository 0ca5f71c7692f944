import type { Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { claimed, collect, declined, end, setUp, text, textOf } from './generate-under-test.ts'

test('admit, reserve, queue, then the output; its end is settled as its worker counted it', async () => {
  const { events, log, settled } = setUp({
    epochs: [(send) => send([claimed(), [text('Hello'), [1]], end(2)])],
  })
  expect(await collect(events)).toEqual([text('Hello'), end(2)])
  expect(log.slice(0, 3)).toEqual(['admit', 'reserve', 'queue'])
  expect(settled).toMatchObject([
    { epoch: 1, outcome: 'completed', promptTokens: 3, completionTokens: 2, deadlineMs: 60_000 },
  ])
  expect(log).toContain('settled worker-1 7')
  expect(log.join()).not.toContain('stop')
})

test('it goes on elsewhere after the ids that were received, and costs what an undisturbed one costs', async () => {
  const { events, log, settled } = setUp({
    epochs: [
      (send, inbox) => {
        send([claimed(), [text('Hel'), [1, 2]]])
        inbox.lose('worker-dead')
      },
      (send) => send([claimed({ worker: 'worker-2', promptTokens: 9, after: 2 }), [text('lo'), [3]], end(3)]),
    ],
  })
  const output = await collect(events)
  expect(textOf(output)).toBe('Hello')
  expect(output.at(-1)).toEqual(end(3))
  expect(log).toContain('again after 2')
  expect(settled).toMatchObject([{ epoch: 2, outcome: 'completed', promptTokens: 3, completionTokens: 3 }])
})

test('the usage of the prompt is passed on once, before the first output', async () => {
  const passed: unknown[] = []
  const cached = { type: 'prompt-cached', cachedTokens: 2 } as const
  const { events } = setUp({
    call: { onPrompt: (usage) => passed.push(usage) },
    epochs: [
      (send, inbox) => {
        send([claimed(), cached, [text('Hel'), [1, 2]]])
        inbox.lose('worker-dead')
      },
      (send) => send([claimed({ worker: 'worker-2', promptTokens: 9, after: 2 }), [text('lo'), [3]], end(3)]),
    ],
  })
  expect(passed).toEqual([])
  expect(textOf(await collect(events))).toBe('Hello')
  expect(passed).toEqual([{ promptTokens: 3, cachedTokens: 2, completionTokens: 0, reasoningTokens: 0 }])
})

test('the log probabilities of the prompt are passed on once, though each epoch without output sends them', async () => {
  const listed = (first: number, ...logprobs: (number | null)[]) =>
    ({
      type: 'prompt-logprobs',
      first,
      tokens: logprobs.map((logprob, at) => ({ token: `t${first + at}`, logprob, top: [] })),
    }) as const
  const { events } = setUp({
    epochs: [
      (send, inbox) => {
        send([claimed(), listed(0, null, -1)])
        inbox.lose('frames-lost')
      },
      // This worker divides the list at other places, and its engine computes slightly other numbers.
      (send, inbox) => {
        send([claimed({ worker: 'worker-2' }), listed(0, null), listed(1, -1.1, -2.1)])
        inbox.lose('frames-lost')
      },
      (send) =>
        send([claimed({ worker: 'worker-3' }), listed(0, null, -1, -2, -3), [text('Hi'), [1]], end(1)]),
    ],
  })
  const output = await collect(events)
  expect(output.slice(0, 3)).toEqual([listed(0, null, -1), listed(2, -2.1), listed(3, -3)])
  expect(output.slice(3)).toEqual([text('Hi'), end(1)])
})

test('a worker that runs short of paid tokens has its hold grow while the output goes on', async () => {
  const { events, log } = setUp({
    epochs: [
      (send) => {
        const short = { type: 'generation-short', amountNano: '1', moreTokens: 256 } as const
        send([claimed(), [text('Hel'), [1]], short, [text('lo'), [2]], end(2)])
      },
    ],
  })
  expect(textOf(await collect(events))).toBe('Hello')
  expect(log).toContain('grow by 256')
})

test('its grammars are compiled with its first output, and no longer under way when it has ended', async () => {
  const { events, log } = setUp({ epochs: [(send) => send([claimed(), [text('Hello'), [1]], end(2)])] })
  await collect(events)
  expect(log.indexOf('compiled')).toBeGreaterThan(0)
  expect(log.filter((entry) => entry === 'left')).toHaveLength(1)
  const silent = setUp({ epochs: [(send) => send([claimed(), end(0)])] })
  await collect(silent.events).catch(() => [])
  expect(silent.log).toContain('left')
})

test('what was received is passed on before the pause', async () => {
  const { events } = setUp({
    epochs: [
      (send) => send([claimed(), [text('Hel'), [1]], declined()]),
      (send) => send([claimed({ worker: 'worker-2', after: 1 }), [text('lo'), [2]], end(2)]),
    ],
  })
  const batches: string[] = []
  await events((batch) => batches.push(textOf(batch)))
  expect(batches).toEqual(['Hel', 'lo'])
})

test('a hold that was too small is replaced, and the generation queued again', async () => {
  const { events, log } = setUp({
    epochs: [
      (send) => send([declined({ reason: 'hold-too-small', promptTokens: 99 })]),
      (send) => send([claimed({ worker: 'worker-2' }), end(1)]),
    ],
  })
  await collect(events)
  expect(log).toContain('again after 42')
})

test('a guided output that is not streamed begins anew, and its client sees it once', async () => {
  const { events, log } = setUp({
    call: { streamed: false },
    epochs: [
      (send) => send([claimed({ guided: true }), [text('{"a":'), [1, 2]], declined()]),
      (send) => send([claimed({ worker: 'worker-2', guided: true }), [text('{"a":1}'), [1, 2, 3]], end(3)]),
    ],
  })
  expect(textOf(await collect(events))).toBe('{"a":1}')
  expect(log).toContain('again after')
})

test('a guided output of which a part was streamed ends with an error, free', async () => {
  const { events, settled } = setUp({
    epochs: [
      (send, inbox) => {
        send([claimed({ guided: true }), [text('{"a":'), [1, 2]]])
        inbox.lose('worker-dead')
      },
    ],
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'upstream_error' })
  expect(settled).toMatchObject([{ outcome: 'fault' }])
})

test('an error of the worker is thrown and settled as a fault', async () => {
  const { events, settled, log } = setUp({
    epochs: [
      (send) => send([claimed(), { type: 'generation-error', code: 'invalid_request', message: 'No.' }]),
    ],
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'invalid_request', message: 'No.' })
  expect(settled).toMatchObject([{ outcome: 'fault' }])
  expect(log).toContain('settled worker-1 7')
})

test('what was received with an error is sent before it', async () => {
  const { events } = setUp({
    epochs: [
      (send) =>
        send([
          claimed(),
          [text('Hello'), [1]],
          { type: 'generation-error', code: 'upstream_error', message: 'The engine failed.' },
        ]),
    ],
  })
  const sent: unknown[] = []
  await expect(events((batch) => void sent.push(...batch))).rejects.toMatchObject({ code: 'upstream_error' })
  expect(sent).toContainEqual(text('Hello'))
})

test('a caller who hangs up pays for what was received, and the worker is stopped', async () => {
  const hangUp = new AbortController()
  const { events, log, settled } = setUp({
    call: { signal: hangUp.signal },
    epochs: [
      (send) => {
        send([claimed(), { type: 'prompt-cached', cachedTokens: 2 }, [text('Hello'), [1, 2]]])
        hangUp.abort()
      },
    ],
  })
  await collect(events)
  expect(settled).toMatchObject([
    { outcome: 'cancelled', promptTokens: 3, cachedTokens: 2, completionTokens: 2 },
  ])
  expect(log).toContain('stop worker-1 1')
})

test('an output that cannot be sent is a failure of the service', async () => {
  const { events, log, settled } = setUp({ epochs: [(send) => send([claimed(), [text('Hello'), [1]]])] })
  const sent = events(() => {
    throw new Error('test: it cannot be rendered')
  })
  await expect(sent).rejects.toThrow('it cannot be rendered')
  expect(settled).toMatchObject([{ outcome: 'fault', completionTokens: 1 }])
  expect(log).toContain('stop worker-1 1')
})

test('one that waits when its caller leaves never runs', async () => {
  const hangUp = new AbortController()
  const { events, settled } = setUp({ call: { signal: hangUp.signal }, epochs: [() => hangUp.abort()] })
  await collect(events)
  expect(settled).toMatchObject([{ outcome: 'never-ran', promptTokens: 0, completionTokens: 0 }])
})

test('one whose caller left before it was queued has only a hold, which is released', async () => {
  const { events, log, settled } = setUp({ call: { signal: AbortSignal.abort() } })
  await collect(events)
  expect(log).toContain('release g1')
  expect(settled).toEqual([])
})

test('a queue that does not answer is settled at 0: it may be queued all the same', async () => {
  const { events, settled } = setUp({
    begin: () => {
      throw new ApiError('model_unavailable', 'The service cannot take new work right now.')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(settled).toMatchObject([{ outcome: 'fault', promptTokens: 0 }])
})

test('vectors are passed on as they come, and again only those that are new', async () => {
  const received: number[] = []
  const vectors = (first: number): GenerationEvent => ({
    type: 'vectors-ready',
    first,
    count: 2,
    promptTokens: 5,
  })
  const { events, settled } = setUp({
    call: {
      request: { kind: 'embedding', inputs: ['a', 'b', 'c', 'd'] },
      onVectors: (some) => received.push(some.length),
    },
    epochs: [
      (send, inbox) => {
        send([claimed(), vectors(0)])
        inbox.lose('worker-dead')
      },
      (send) => send([claimed({ worker: 'worker-2' }), vectors(0), vectors(2), end(0)]),
    ],
  })
  await collect(events)
  expect(received).toEqual([2, 2])
  expect(settled).toMatchObject([{ outcome: 'completed', promptTokens: 3 }])
})

/** Returns a metric's lines, one for each set of labels, without buckets. */
async function countsOf(registry: Registry, name: string) {
  const text = await registry.metrics()
  return text.split('\n').filter((line) => line.startsWith(`${name}_count{`))
}

test('a generation is measured once, its first token when it arrived, though it was kept back', async () => {
  const { events, registry, demanded } = setUp({
    call: { streamed: false },
    epochs: [
      (send) => send([claimed({ guided: true }), [text('{"a":'), [1, 2]], declined()]),
      (send) => send([claimed({ worker: 'worker-2', guided: true }), [text('{"a":1}'), [1, 2, 3]], end(3)]),
    ],
  })
  await collect(events)
  expect(await countsOf(registry, 'gen_ai_server_request_duration_seconds')).toHaveLength(1)
  expect(await registry.metrics()).toMatch(/gen_ai_server_time_to_first_token_seconds_sum\{.*\} 1\n/u)
  expect(demanded()).toMatchObject({ fresh: 1, refused: 0 })
})

test('a refusal of admission reserves nothing, settles nothing, and is measured', async () => {
  const { events, log, settled, registry, demanded } = setUp({
    refusal: new ApiError('model_busy', 'Busy.', { retryAfterS: 3 }),
  })
  await expect(collect(events)).rejects.toThrow('Busy.')
  expect(log).toEqual(['admit'])
  expect(settled).toEqual([])
  expect(await countsOf(registry, 'gen_ai_server_request_duration_seconds')).toEqual([
    expect.stringContaining('error_type="model_busy"'),
  ])
  expect(await countsOf(registry, 'millrace_gateway_retry_after_seconds')).toHaveLength(1)
  expect(demanded()).toBeUndefined()
})

test('the wait for a start begins once the generation is queued, and is no time to the first token', async () => {
  const begun: string[] = []
  const { events, log, registry } = setUp({
    startWait: {
      limitS: 30,
      leftMs: () => 30_000,
      expectedMs: () => null,
      state: () => 'warming',
      begin: () => void begun.push(...log),
      end: () => {},
    },
    epochs: [(send) => send([claimed(), [text('Hello'), [1]], end(2)])],
  })
  await collect(events)
  expect(begun).toEqual(['admit', 'reserve', 'queue'])
  expect(await countsOf(registry, 'gen_ai_server_request_duration_seconds')).toHaveLength(1)
  expect(await countsOf(registry, 'gen_ai_server_time_to_first_token_seconds')).toEqual([])
})
