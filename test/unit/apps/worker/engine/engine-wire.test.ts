import { describe, expect, it } from 'vitest'
import { fromCompleteMessage, toGenerateMessage } from '#apps/worker/engine/engine-wire.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'

const { Generate } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine.service

const request = {
  requestId: 'g-1',
  promptIds: Uint32Array.of(2001, 7),
  sampling: {},
  maxTokens: 5,
  endIds: [2000, 2002],
  stop: ['END'],
  constraint: null,
  cacheSalt: null,
}

describe('toGenerateMessage', () => {
  it('always sets what the engine would otherwise choose, as it arrives on the wire', () => {
    const arrived = Generate.requestDeserialize(Generate.requestSerialize(toGenerateMessage(request)))
    expect(arrived).toMatchObject({
      requestId: 'g-1',
      stream: true,
    })
    expect(arrived.samplingParams).toMatchObject({
      temperature: 1,
      topP: 1,
      topK: 0,
      repetitionPenalty: 1,
      maxTokens: 5,
      stop: ['END'],
      stopTokenIds: [2000, 2002],
      skipSpecialTokens: false,
      n: 0,
    })
    expect(arrived.samplingParams).not.toHaveProperty('seed')
  })

  it('keeps an explicit temperature of 0, which is greedy, and turns top_k -1 into off', () => {
    const sampling = { temperature: 0, topK: -1, logitBias: { '5': -100 }, seed: 7 }
    const arrived = Generate.requestDeserialize(
      Generate.requestSerialize(toGenerateMessage({ ...request, sampling })),
    )
    expect(arrived.samplingParams).toMatchObject({ temperature: 0, topK: 0, logitBias: { 5: -100 }, seed: 7 })
  })

  it.each([0, 2 ** 31 - 1])('keeps the seed %d', (seed) => {
    const arrived = Generate.requestDeserialize(
      Generate.requestSerialize(toGenerateMessage({ ...request, sampling: { seed } })),
    )
    expect(arrived.samplingParams).toMatchObject({ seed })
  })
})

describe('a constraint on the wire', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const calls = { section: null, tags: [{ begin: '<', schema, end: '>' }], separator: '\n', single: false }
  const callsFormat = {
    type: 'tags_with_separator',
    tags: [{ type: 'tag', begin: '<', content: { type: 'json_schema', json_schema: schema }, end: '>' }],
    separator: '\n',
    at_least_one: true,
    stop_after_first: false,
  }
  const paramsOf = (constraint: EngineConstraint | null) =>
    Generate.requestDeserialize(Generate.requestSerialize(toGenerateMessage({ ...request, constraint })))
      .samplingParams
  const formatOf = (constraint: EngineConstraint): unknown =>
    JSON.parse(paramsOf(constraint)?.structuralTag ?? '')

  it('is absent when there is none', () => {
    expect(paramsOf(null)?.constraint).toBeUndefined()
  })

  it('is a structural tag for plain JSON as well, so that no schema moves the engine to another grammar library', () => {
    expect(paramsOf({ type: 'answer', schema })?.constraint).toBe('structuralTag')
    expect(formatOf({ type: 'answer', schema })).toEqual({
      type: 'structural_tag',
      format: { type: 'json_schema', json_schema: schema },
    })
  })

  it.each([
    [
      { type: 'regex', pattern: '[a-z]+' },
      { type: 'regex', pattern: '[a-z]+' },
    ],
    [
      { type: 'grammar', grammar: 'root ::= "a"' },
      { type: 'grammar', grammar: 'root ::= "a"' },
    ],
    [
      { type: 'choice', choices: ['yes', 'no'] },
      {
        type: 'or',
        elements: [
          { type: 'const_string', value: 'yes' },
          { type: 'const_string', value: 'no' },
        ],
      },
    ],
  ] as const)('is a structural tag for the text %j too, with and without a header', (text, format) => {
    expect(formatOf({ type: 'answer', text })).toEqual({ type: 'structural_tag', format })
    expect(formatOf({ type: 'answer', header: '<final>', text })).toEqual({
      type: 'structural_tag',
      format: { type: 'sequence', elements: [{ type: 'const_string', value: '<final>' }, format] },
    })
  })

  it('is a structural tag of nothing but calls for calls', () => {
    expect(paramsOf({ type: 'calls', calls })?.constraint).toBe('structuralTag')
    expect(formatOf({ type: 'calls', calls })).toEqual({ type: 'structural_tag', format: callsFormat })
    expect(formatOf({ type: 'calls', calls: { ...calls, single: true } })).toEqual({
      type: 'structural_tag',
      format: { ...callsFormat, stop_after_first: true },
    })
  })

  it('puts what stands around calls into a tag of its own', () => {
    const section = { begin: '[', end: ']' }
    expect(formatOf({ type: 'calls', calls: { ...calls, section } })).toEqual({
      type: 'structural_tag',
      format: { type: 'tag', begin: '[', content: callsFormat, end: ']' },
    })
  })

  it('waits for a call’s beginning where the model need not call', () => {
    const constraint = { type: 'text-with-calls', trigger: '<', calls } as const
    const triggered = { type: 'triggered_tags', triggers: ['<'], at_least_one: false }
    expect(formatOf(constraint)).toEqual({
      type: 'structural_tag',
      format: { ...triggered, tags: callsFormat.tags, stop_after_first: false },
    })
    const section = { begin: '<[', end: ']' }
    expect(formatOf({ ...constraint, calls: { ...calls, section, single: true } })).toEqual({
      type: 'structural_tag',
      format: {
        ...triggered,
        tags: [{ type: 'tag', begin: '<[', content: { ...callsFormat, stop_after_first: true }, end: ']' }],
        stop_after_first: true,
      },
    })
  })

  it('begins with free thinking and the answer’s header where the output has them', () => {
    const output = { type: 'answer', header: '<final>', schema } as const
    const thinking = { begin: '<analysis>', end: '<end>' }
    expect(formatOf({ type: 'after-thinking', thinking, output })).toEqual({
      type: 'structural_tag',
      format: {
        type: 'sequence',
        elements: [
          { type: 'tag', begin: '<analysis>', content: { type: 'any_text' }, end: '<end>' },
          {
            type: 'sequence',
            elements: [
              { type: 'const_string', value: '<final>' },
              { type: 'json_schema', json_schema: schema },
            ],
          },
        ],
      },
    })
  })

  it('is one structural tag for calls or JSON', () => {
    expect(formatOf({ type: 'calls-or-answer', calls, schema })).toEqual({
      type: 'structural_tag',
      format: { type: 'or', elements: [{ type: 'json_schema', json_schema: schema }, callsFormat] },
    })
  })
})

it('takes unknown finish reasons for a stop, and keeps the known ones', () => {
  const counts = { promptTokens: 1, completionTokens: 3, cachedTokens: 0 }
  const message = { type: 'complete', ...counts, matchedTokenId: null, matchedStop: null } as const
  const reason = (finishReason: string) => fromCompleteMessage({ ...message, finishReason }, 3).finishReason
  expect(reason('repetition')).toBe('stop')
  for (const known of ['stop', 'length', 'abort', 'error']) expect(reason(known)).toBe(known)
})
