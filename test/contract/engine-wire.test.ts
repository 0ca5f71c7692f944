import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { casesOf } from './cases.ts'
import { expectRecorded } from './expect-recorded.ts'
import { callGenerate, collect, toResponses } from './raw-calls.ts'
import { caseNames, RECORDED_VERSIONS, type Recording } from './recordings.ts'
import { fromRecording, toStructure, type EngineResponse, type Structure } from './structure.ts'
import { openTarget, TARGETS, type OpenTarget } from './targets.ts'

/**
 * The known differences between the simulator and the recorded engine, and the parts that are therefore not compared.
 * The recorded model has random weights and writes blanks until it is cut. The simulator's persona ends by itself.
 */
const DEVIATIONS: Readonly<Record<string, { why: string; leaveOut: LeftOut }>> = {
  'constraint-json-object-true': { why: 'the persona ends its object', leaveOut: 'tokens and finish' },
  'constraint-structural-tag': {
    why: 'the persona writes nothing after the call',
    leaveOut: 'tokens and finish',
  },
  'constraint-tags-with-separator': {
    why: 'nothing in the prompt asks for the second call',
    leaveOut: 'tokens',
  },
  'error-unsupported-json-schema': { why: 'the persona ends its object', leaveOut: 'tokens and finish' },
  'alt-reasoning-parser-grammar-from-first-token': {
    why: 'the persona ends its object',
    leaveOut: 'tokens and finish',
  },
  'alt-reasoning-parser-json-schema-no-think': {
    why: 'the persona ends its object',
    leaveOut: 'tokens and finish',
  },
  'alt-reasoning-parser-json-schema-closes': { why: 'the thought is longer', leaveOut: 'tokens and finish' },
  'alt-reasoning-parser-json-schema-open': { why: 'the thought is shorter', leaveOut: 'tokens and finish' },
  'alt-reasoning-parser-tool-call-ends-thinking': {
    why: 'the persona closes its thought before it calls',
    leaveOut: 'tokens and finish',
  },
  'finish-stop-token-id-after-text': { why: 'the stop token stands earlier in the text', leaveOut: 'text' },
}

type LeftOut = 'tokens' | 'tokens and finish' | 'text'

/**
 * Requests that the recorded engine accepts and the simulator refuses. The simulator makes one choice in a call, because
 * the worker sends a call for each choice. It cannot write a text for an EBNF grammar.
 */
function isUnsupported({ request }: Recording): boolean {
  const { n = 1, grammar } = Object(request?.['sampling_params'])
  return n > 1 || grammar !== undefined
}

/** The number of such requests for each version. */
const UNSUPPORTED_CASES = 11

/** Cases that the servicer in Rust does not refuse, and of which its engine dies. */
const KILLS_RUST =
  /^error-(empty-input-ids|id-equals-vocab|logit-bias-id-out-of-range|prompt-(equals|over)-.*|temperature-3)$/

/** Cases whose status text comes from Python or from a grammar library. Only the code is compared. */
const OTHER_WORDS = new Set([
  'error-bad-grammar',
  'error-bad-json-schema-syntax',
  'error-bad-kv-transfer-json',
  'error-bad-regex',
])

describe.each(TARGETS.map((target) => [target.name, target] as const))(
  '%s answers a Generate call as recorded',
  (_, target) => {
    const { kind, servicerVersion, remembers } = target
    const cases = casesOf(servicerVersion, 'wire')
    const isRefused = ([, recording]: (typeof cases)[number]) =>
      kind === 'simulator' && isUnsupported(recording)
    const refused = cases.filter(isRefused)
    let open: OpenTarget
    beforeAll(async () => {
      open = await openTarget(target)
    })
    afterAll(async () => {
      await open.close()
    })

    test('there are cases', () => {
      expect(cases.length - refused.length).toBeGreaterThan(80)
      expect(refused.length).toBe(kind === 'simulator' ? UNSUPPORTED_CASES : 0)
    })

    test.for(cases.filter((each) => !isRefused(each)))('%s', async ([name, recording], context) => {
      if (target.isRust && KILLS_RUST.test(name)) return context.skip('it would kill the engine')
      const client = await open.clientFor(recording)
      if ('missing' in client) return context.skip(client.missing)
      const { messages, ending } = await collect(callGenerate(client, recording.request ?? {}))
      const { responses } = toResponses({ messages, ending })
      const leaveOut = kind === 'simulator' ? (DEVIATIONS[name]?.leaveOut ?? null) : null
      const comparable = (structure: Structure) =>
        withoutChance(structure, { recording, leaveOut, remembers })
      const literal = leaveOut === 'text' ? null : literalText(recording)
      const spoken = () => withoutEnd(open.decode(spokenIds(responses)))

      expectRecorded(
        {
          code: ending.code,
          details: OTHER_WORDS.has(name) ? recording.status.details : ending.details,
          structure: comparable(toStructure(responses)),
          text: literal === null ? null : spoken(),
          gathered: isGathered(recording, responses),
        },
        {
          code: recording.status.code,
          details: recording.status.details,
          structure: comparable(toStructure(recording.responses.map(fromRecording), recording.token_counts)),
          text: literal === null ? null : withoutEnd(literal),
          gathered: isGathered(recording, recording.responses.map(fromRecording)),
        },
      )
    })

    test.for(refused)('%s is refused as not supported', async ([, recording], context) => {
      const client = await open.clientFor(recording)
      if ('missing' in client) return context.skip(client.missing)
      const { ending } = await collect(callGenerate(client, recording.request ?? {}))
      expect(ending.code).toBe('INVALID_ARGUMENT')
      expect(ending.details).toContain('not supported by this engine')
    })
  },
)

test('every deviation is about a recorded case', () => {
  const recorded = new Set(RECORDED_VERSIONS.flatMap(caseNames))
  const names = [...Object.keys(DEVIATIONS), ...OTHER_WORDS]
  expect(names.filter((name) => !recorded.has(name))).toEqual([])
})

/**
 * Under `--stream-interval 4`, the first chunk of a choice has one token, the next ones four, the last one the rest.
 */
function isGathered(
  { server_args: args, request }: Recording,
  responses: readonly EngineResponse[],
): boolean | null {
  if (!args.includes('--stream-interval') || request?.['stream'] !== true) return null
  const indexes = new Set(responses.map(({ index }) => index))
  return Array.from(indexes).every((index) => {
    const chunks = responses.filter((response) => response.type === 'chunk' && response.index === index)
    const [first, ...others] = chunks.map(({ ids }) => ids.length)
    const rest = others.pop() ?? 1
    return first === 1 && others.every((size) => size === 4) && rest >= 1 && rest <= 4
  })
}

/**
 * Leaves out everything that a model with random weights decides. Under a constraint, this is how the text is split
 * into tokens, and which end token is chosen. If responses are `omitted`, the numbers of choices and tokens are
 * unknown.
 */
function withoutChance(
  structure: Structure,
  options: { recording: Recording; leaveOut: LeftOut | null; remembers: boolean },
) {
  const { recording, leaveOut, remembers } = options
  const constrained = isConstrained(recording)
  const cut = recording.responses.some((response) => response.type === 'omitted')
  const choices = structure.choices.map((choice, at) => ({
    ...choice,
    // The first step of a call has them, and it is chance which choices, and how many, this step is of.
    promptLogprobs: at === 0 ? [...new Set(structure.choices.flatMap((each) => each.promptLogprobs))] : [],
    tokens: constrained || leaveOut !== null ? 'left out' : choice.tokens,
    cachedTokens: remembers ? 'left out' : choice.cachedTokens,
    finishReason: leaveOut === 'tokens and finish' ? 'left out' : choice.finishReason,
    matchedTokenId:
      choice.finishReason === 'stop' && constrained && choice.matchedTokenId === 2_000
        ? null
        : choice.matchedTokenId,
  }))
  const shown = new Set(recording.responses.map((response) => fromRecording(response).index))
  return { ...structure, choices: cut ? choices.filter((choice) => shown.has(choice.index)) : choices }
}

function isConstrained({ request }: Recording): boolean {
  const params = Object(request?.['sampling_params'])
  return ['json_schema', 'regex', 'structural_tag', 'json_object', 'choice'].some((name) => name in params)
}

/** Returns the only text that a regular expression without choices allows, as recorded; null for other requests. */
function literalText(recording: Recording): string | null {
  const { regex } = Object(recording.request?.['sampling_params'])
  if (typeof regex !== 'string' || /(?<!\\)[[(]/u.test(regex)) return null
  if (recording.expected_text !== undefined) return recording.expected_text
  return typeof recording.text === 'object' ? (recording.text['0'] ?? null) : null
}

/** Returns the ids of the chunks. The Complete message is left out, because it repeats the last chunk. */
function spokenIds(responses: readonly EngineResponse[]): number[] {
  const chunks = responses.filter((response) => response.type === 'chunk')
  return (chunks.length > 0 ? chunks : responses).flatMap((response) => response.ids)
}

function withoutEnd(text: string): string {
  return text.replace(/<\|im_end\|>$|<\|endoftext\|>$/u, '')
}
