import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callGenerate, collect, startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { ALL_CASES, readRecording, SCENARIO_CASES, type Recording } from './recordings.ts'
import { fromRecording, fromWire, toStructure, type Frame, type Structure } from './structure.ts'

/**
 * Where the simulator knowingly differs from the recorded engine, and what is left out of the comparison for
 * that reason. A random model writes blanks until it is cut; the persona finishes.
 */
const DEVIATIONS: Readonly<Record<string, { why: string; leaveOut: LeftOut }>> = {
  'constraint-json-object-true': { why: 'the persona ends its object', leaveOut: 'tokens and finish' },
  'constraint-structural-tag': {
    why: 'the persona says nothing after the call',
    leaveOut: 'tokens and finish',
  },
  'constraint-tags-with-separator': {
    why: 'nothing in the prompt asks for the second call',
    leaveOut: 'tokens',
  },
  'error-unsupported-json-schema': { why: 'the persona ends its object', leaveOut: 'tokens and finish' },
  'alt-reasoning-parser-json-schema-closes': { why: 'the thought is longer', leaveOut: 'tokens and finish' },
  'alt-reasoning-parser-json-schema-open': { why: 'the thought is shorter', leaveOut: 'tokens and finish' },
  'alt-reasoning-parser-tool-call-ends-thinking': {
    why: 'the persona closes its thought before it calls',
    leaveOut: 'tokens and finish',
  },
  'finish-stop-token-id-after-text': { why: 'the stop token stands earlier in the text', leaveOut: 'text' },
  'generate-stream-n3-uneven-stop': { why: 'the end is drawn by chance', leaveOut: 'tokens' },
}

type LeftOut = 'tokens' | 'tokens and finish' | 'text'

/** Answered by the recorded engine and refused by the simulator: it cannot write a text of an EBNF grammar. */
const REFUSED = ['constraint-grammar']

/** Status texts that come from Python or from a grammar library; only the code is the contract. */
const OTHER_WORDS = new Set(['error-bad-grammar', 'error-bad-regex', 'error-bad-kv-transfer-json'])

const cases = ALL_CASES.filter((name) => !SCENARIO_CASES.some((scenario) => scenario === name)).map(
  readRecording,
)
const answered = cases.filter(({ case: name, method }) => method === 'Generate' && !REFUSED.includes(name))

type Kind = 'plain' | 'reasoning' | 'pooling'
const engines = new Map<Kind, EngineUnderTest>()

beforeAll(async () => {
  engines.set('plain', await startEngineUnderTest())
  engines.set('reasoning', await startEngineUnderTest({ family: 'demo-reasoning' }))
  engines.set('pooling', await startEngineUnderTest({ kind: 'embedding' }))
})

afterAll(async () => {
  for (const engine of engines.values()) await engine.close()
})

describe('a Generate call is answered as the recorded engine answered it', () => {
  test('every deviation is about a recorded case', () => {
    const names = [...Object.keys(DEVIATIONS), ...REFUSED, ...OTHER_WORDS, ...SCENARIO_CASES]
    expect(names.filter((name) => !ALL_CASES.includes(name))).toEqual([])
    expect(answered.length).toBeGreaterThan(80)
  })

  test.each(answered.map((recording) => [recording.case, recording] as const))(
    '%s',
    async (name, recording) => {
      const { client, model } = engineFor(recording)
      const { messages, ending } = await collect(callGenerate(client, recording.request ?? {}))
      const frames = messages.map(fromWire)
      const leaveOut = DEVIATIONS[name]?.leaveOut ?? null
      const comparable = (structure: Structure) => withoutChance(structure, { recording, leaveOut })
      const literal = leaveOut === 'text' ? null : literalText(recording)
      const spoken = () => withoutEnd(model.tokenizer.decode(spokenIds(frames)))

      expect({
        code: ending.code,
        details: OTHER_WORDS.has(name) ? recording.status.details : ending.details,
        structure: comparable(toStructure(frames)),
        text: literal === null ? null : spoken(),
      }).toEqual({
        code: recording.status.code,
        details: recording.status.details,
        structure: comparable(toStructure(recording.frames.map(fromRecording), recording.token_counts)),
        text: literal === null ? null : withoutEnd(literal),
      })
    },
  )

  test.each(REFUSED)('%s is refused in clear words', async (name) => {
    const recording = readRecording(name)
    const { ending } = await collect(callGenerate(engineFor(recording).client, recording.request ?? {}))
    expect(ending.code).toBe('INVALID_ARGUMENT')
    expect(ending.details).toContain('not supported by this engine')
  })
})

function engineFor({ server_args: args }: Recording): EngineUnderTest {
  const kind = args.includes('--runner')
    ? 'pooling'
    : args.includes('--reasoning-parser')
      ? 'reasoning'
      : 'plain'
  const engine = engines.get(kind)
  if (engine === undefined) throw new Error('the engine is not started')
  return engine
}

/**
 * Leaves out what a random model decides. Under a constraint: how the text is spelled in tokens, and which end
 * token is chosen. `omitted` frames leave the number of choices and tokens unknown.
 */
function withoutChance(
  structure: Structure,
  { recording, leaveOut }: { recording: Recording; leaveOut: LeftOut | null },
) {
  const constrained = isConstrained(recording)
  const cut = recording.frames.some((frame) => frame.type === 'omitted')
  const choices = structure.choices.map((choice) => ({
    ...choice,
    tokens: constrained || leaveOut !== null ? 'left out' : choice.tokens,
    finishReason: leaveOut === 'tokens and finish' ? 'left out' : choice.finishReason,
    matchedTokenId:
      choice.finishReason === 'stop' && constrained && choice.matchedTokenId === 2_000
        ? null
        : choice.matchedTokenId,
  }))
  const shown = new Set(recording.frames.map((frame) => fromRecording(frame).index))
  return { ...structure, choices: cut ? choices.filter((choice) => shown.has(choice.index)) : choices }
}

function isConstrained({ request }: Recording): boolean {
  const params = Object(request?.['sampling_params'])
  return ['json_schema', 'regex', 'structural_tag', 'json_object', 'choice'].some((name) => name in params)
}

/** The one text that a regex without choices allows, as it was recorded; null for other requests. */
function literalText(recording: Recording): string | null {
  const { regex } = Object(recording.request?.['sampling_params'])
  if (typeof regex !== 'string' || /(?<!\\)[[(]/u.test(regex)) return null
  if (recording.expected_text !== undefined) return recording.expected_text
  return typeof recording.text === 'object' ? (recording.text['0'] ?? null) : null
}

/** Of a stream the chunks: the Complete repeats the last of them. */
function spokenIds(frames: readonly Frame[]): number[] {
  const chunks = frames.filter((frame) => frame.type === 'chunk')
  return (chunks.length > 0 ? chunks : frames).flatMap((frame) => frame.ids)
}

function withoutEnd(text: string): string {
  return text.replace(/<\|im_end\|>$|<\|endoftext\|>$/u, '')
}
