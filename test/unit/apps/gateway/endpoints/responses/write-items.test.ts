import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  oneof,
  record,
  string,
} from 'fast-check'
import { expect, it } from 'vitest'
import { ResponseObject } from '#apps/gateway/endpoints/responses/response-object.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { args, call, end, type Event, read, render, tokens, wholeOf } from './rendered-stream.ts'

/** Any output that a worker may send, in any batches. */
const anyBatches = (logged: boolean) =>
  array(
    oneof(
      record({
        type: constantFrom('text-delta' as const, 'reasoning-delta' as const),
        text: string({ maxLength: 3 }),
      }),
      array(string({ maxLength: 3 }), { maxLength: 3 }),
    ),
    { maxLength: 12 },
  )
    .chain((pieces) => {
      let index = -1
      const output = pieces.flatMap((piece): OutputEvent[] => {
        if (!Array.isArray(piece)) return logged ? [tokens(piece.text), piece] : [piece]
        index += 1
        const at = index
        return [call(at), ...piece.map((value) => args(at, value))]
      })
      return record({
        output: constant(output),
        finishReason: constantFrom('stop' as const, 'length' as const, 'tool-calls' as const),
        cuts: array(boolean(), { minLength: output.length, maxLength: output.length }),
      })
    })
    .map(({ output, finishReason, cuts }) => {
      const batches: OutputEvent[][] = [[]]
      for (const [at, event] of output.entries()) {
        if (cuts[at] === true) batches.push([])
        batches.at(-1)?.push(event)
      }
      batches.at(-1)?.push(end(finishReason))
      return batches
    })

it.each([
  ['', false],
  [' with log probabilities', true],
])('assembles to the whole response%s, in both sets, however the output is split', async (_, logged) => {
  await assert(
    asyncProperty(anyBatches(logged), async (batches) => {
      const whole = await wholeOf(batches)
      ResponseObject.strict().parse(whole)
      const full = read(render('full', ...batches))
      const spec = read(render('spec', ...batches))
      expect(full.at(-1)?.response).toEqual(whole)
      expect(spec.at(-1)?.response).toEqual(whole)
      const { deltas, done } = assemble(full)
      expect(done).toEqual(whole.output)
      expect([...deltas.values()]).toEqual(whole.output.map(writtenOf))
      for (const item of whole.output) {
        if (item.type !== 'message') continue
        const [part] = item.content
        expect(part?.logprobs.map(({ token }) => token).join('')).toBe(logged ? part?.text : '')
        for (const events of [full, spec]) {
          expect(logprobsOf(events, { id: item.id, type: 'delta' })).toEqual(part?.logprobs)
          expect(logprobsOf(events, { id: item.id, type: 'done' })).toEqual(part?.logprobs)
        }
      }
      expect(assemble(spec).done).toEqual(whole.output.filter(({ type }) => type !== 'reasoning'))
      const places = [...full, ...spec].flatMap(({ item, output_index: index }) =>
        item === undefined ? [] : [[item.id, index]],
      )
      expect(
        places.filter(([id, index]) => whole.output.findIndex((item) => item.id === id) !== index),
      ).toEqual([])
      expect(new Set(whole.output.map(({ id }) => id)).size).toBe(whole.output.length)
    }),
    { numRuns: 100 },
  )
})

function writtenOf(item: ResponseObject['output'][number]): string {
  return item.type === 'function_call' ? item.arguments : item.content.map((part) => part.text).join('')
}

function logprobsOf(events: Event[], { id, type }: { id: string; type: 'delta' | 'done' }) {
  const own = events.filter((event) => event.item_id === id && event.type === `response.output_text.${type}`)
  return own.flatMap(({ logprobs = [] }) => logprobs)
}

/** Returns a client's view of a full stream: for each item, its joined deltas and the item of `output_item.done`. */
function assemble(events: Event[]) {
  const deltas = new Map<string, string>()
  for (const { item, item_id: id, delta } of events) {
    if (item !== undefined && !deltas.has(item.id)) deltas.set(item.id, '')
    if (id !== undefined && delta !== undefined) deltas.set(id, (deltas.get(id) ?? '') + delta)
  }
  return {
    deltas,
    done: events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item),
  }
}
