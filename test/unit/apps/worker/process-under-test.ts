import { pino } from 'pino'
import type { TokenizedInputs } from '#apps/worker/run/embedding/tokenize-inputs.ts'
import type {
  EngineClient,
  EngineEnd,
  EngineRequest,
  EngineTokens,
} from '#apps/worker/engine/engine-client.ts'
import { createEndRun } from '#apps/worker/run/end-run.ts'
import type { CallEnding } from '#apps/worker/run/measure/measure-calls.ts'
import { createProcessGeneration } from '#apps/worker/process-generation.ts'
import { createRunChat } from '#apps/worker/run/run-chat.ts'
import { createOutputLogprobs } from '#apps/worker/run/logprobs/output-logprobs.ts'
import { createPrefills, type Prefills } from '#apps/worker/run/room/prefills.ts'
import { describePromptLogprobs } from '#apps/worker/run/logprobs/prompt-logprobs.ts'
import { createSentPrefixes, type SentPrefixes } from '#apps/worker/run/cached/sent-prefixes.ts'
import { createRunEmbedding } from '#apps/worker/run/run-embedding.ts'
import type { Quarantine } from '#apps/worker/run/room/quarantine.ts'
import type { ClaimedGeneration, RunningGeneration } from '#apps/worker/run/running-generation.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import { createOutputParser } from '#libs/dialect/parse-output.ts'
import type { GenerationDeclined, GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { generationJob } from '../../../support/generation-job.ts'
import { claimedGeneration, runningUnderTest } from './run/running-under-test.ts'

/** The end tokens of models/tiny. */
export const END_IDS: ReadonlySet<number> = new Set([2_002, 2_000])

export const PROMPT = { tail: 'Hello', ids: Uint32Array.of(1, 2, 3) }

export const END: EngineEnd = {
  finishReason: 'stop',
  matchedTokenId: null,
  matchedStop: null,
  promptTokens: 3,
  cachedTokens: 0,
  completionTokens: 0,
}

export const tokens = (ids: readonly number[], cachedTokens = 0): EngineTokens => ({
  ids,
  promptTokens: 3,
  cachedTokens,
})

/** The first event of a run of `PROMPT`. */
export const CLAIMED: GenerationEvent = {
  type: 'generation-claimed',
  worker: 'worker-1',
  promptTokens: 3,
  after: 0,
  guided: false,
  waitedMs: 5,
}

export const declined = (fields: Partial<GenerationDeclined>): GenerationEvent => ({
  type: 'generation-declined',
  reason: 'worker-stopping',
  promptTokens: 0,
  requirement: '',
  blame: 'none',
  ...fields,
})

export type Given = {
  /** The engine's messages, in order. */
  engine?: (run: RunningGeneration, request: EngineRequest) => AsyncIterable<EngineTokens | EngineEnd>
  job?: Partial<GenerationJob>
  /** Fields of the claim's answer, such as the ids of earlier epochs and the remaining time. */
  claimed?: Partial<ClaimedGeneration>
  inputs?: TokenizedInputs
  /** Embeds the inputs; default: embeds all of them. */
  embed?: (run: RunningGeneration, embedded: (tokens: number) => void) => Promise<void>
  claim?: Exclude<Claim, { status: 'claimed' }>
  /** If true, the worker already runs this epoch. */
  hasHad?: boolean
  whyNotRun?: 'worker-stopping' | 'engine-lost'
  /** Stands for the reaction of the engine watch to a failed call. */
  callFailed?: (run: RunningGeneration) => void
  engineWindow?: number
  render?: (run: RunningGeneration) => Promise<typeof PROMPT>
  constrain?: () => EngineConstraint | null
  /** If true, the request offers a tool. */
  tools?: boolean
  prefixTenant?: string
  sentPrefixes?: SentPrefixes
  prefills?: Pick<Prefills, 'begin' | 'end'>
  /** If true, the output ends after the first call. */
  singleCall?: boolean
}

/** Processes one claim with an engine that the test gives. The record and the bus are lists. */
export async function processUnderTest(tokenizer: Tokenizer, given: Given) {
  const job = { ...generationJob(), ...given.job }
  const { running, groups, events } = runningUnderTest()
  const requests: EngineRequest[] = []
  const handedBack: string[] = []
  const gaveBack: string[] = []
  const seen = { choiceEnds: 0, tokens: 0, failures: 0, replayed: 0, moneyEnds: 0 }
  const calls: CallEnding[] = []
  let opened: RunningGeneration | undefined
  const refuse = async () => {
    throw new Error('not asked in these tests')
  }
  const engine: EngineClient = {
    async generate(request, { onTokens, signal }) {
      requests.push(request)
      if (opened === undefined || given.engine === undefined) throw new Error('nothing to generate')
      for await (const output of given.engine(opened, request)) {
        if (signal.aborted) return null
        if ('finishReason' in output) return output
        if (!onTokens(output)) return null
      }
      return null
    },
    embed: refuse,
    healthCheck: refuse,
    getModelInfo: refuse,
    getServerInfo: refuse,
    getLoads: refuse,
    close: () => {},
  }
  const log = pino({ level: 'silent' })
  const watch = {
    tokenSeen: () => (seen.tokens += 1),
    failureSeen: () => (seen.failures += 1),
    async callFailed() {
      if (opened !== undefined) given.callFailed?.(opened)
    },
  }
  const quarantine: Pick<Quarantine, 'begin' | 'outputSeen'> = { begin() {}, outputSeen() {} }
  const worker = 'worker-1'
  const contextWindow = given.engineWindow ?? 4_096
  const processGeneration = createProcessGeneration({
    claim: async () => given.claim ?? claimedGeneration(job, given.claimed),
    open: (claim) => (opened = running.open(claim, () => {}, { onChoiceEnd: () => (seen.choiceEnds += 1) })),
    hasHad: () => given.hasHad ?? false,
    giveBack: ({ status, id }) => gaveBack.push(`${status} ${id}`),
    whyNotRun: () => given.whyNotRun ?? null,
    runChat: createRunChat({
      worker,
      model: {
        async renderPrompt() {
          if (opened === undefined || given.render === undefined) return PROMPT
          return await given.render(opened)
        },
        samplingDefaults: {},
        callFormat: 'none',
        endIds: Array.from(END_IDS),
        engineStops: (request) => request.stop,
        constrain: given.constrain ?? (() => null),
        describeLogprobs: (earlierIds) => createOutputLogprobs({ tokenizer, earlierIds }),
        describePrompt: (tokens, promptIds) => describePromptLogprobs(tokens, { tokenizer, promptIds }),
        createParser: () =>
          createOutputParser({
            generationId: job.id,
            tokenizer,
            endIds: END_IDS,
            family: { toolCalls: 'hermes', reasoning: 'none', callIds: 'opaque' },
            tools: given.tools === true ? [{ name: 'f', description: null, parameters: null }] : [],
            singleCall: given.singleCall ?? false,
            stop: job.request.kind === 'chat' ? job.request.stop : [],
            startsInReasoning: false,
            earlierCalls: 0,
          }),
      },
      engine,
      contextWindow,
      vocabularySize: 2 ** 31,
      prefixTenantOf: () => given.prefixTenant ?? null,
      sentPrefixes: given.sentPrefixes ?? createSentPrefixes(),
      prefills: given.prefills ?? createPrefills(32_768, () => undefined),
      quarantine,
      watch,
      meter: { begin: () => (ending) => calls.push(ending) },
      onReplay: (tokens) => (seen.replayed += tokens),
      onMoneyEnd: () => (seen.moneyEnds += 1),
    }),
    runEmbedding: createRunEmbedding({
      worker,
      tokenizeInputs: async () => given.inputs ?? { status: 'tokenized', inputs: [], tokens: 0, longest: 0 },
      async embedInputs(run, inputs, { onInput, onVector }) {
        const embedded = (tokens: number) => {
          onInput(tokens)
          onVector()
        }
        if (given.embed !== undefined) return await given.embed(run, embedded)
        for (const ids of inputs) embedded(ids.length)
      },
      contextWindow,
      quarantine,
      watch,
    }),
    endRun: createEndRun({ watch, onHandBack: (reason) => handedBack.push(reason), log }),
  })
  const taken = await processGeneration()
  await taken?.ended
  return {
    taken,
    groups,
    events: events(),
    ids: groups.flat().flatMap((entry) => entry.ids),
    usage: opened && {
      ...opened.usage,
      completionTokens: opened.choices.reduce((sum, choice) => sum + choice.tokens(), 0),
    },
    calls,
    handedBack,
    gaveBack,
    seen,
    requests,
    hasEnded: running.live().length === 0,
  }
}
