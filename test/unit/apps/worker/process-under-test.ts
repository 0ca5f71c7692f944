import { pino } from 'pino'
import type { TokenizedInputs } from '#apps/worker/embedding/tokenize-inputs.ts'
import type { EngineClient, EngineOutput, EngineRequest } from '#apps/worker/engine/engine-client.ts'
import { createEndRun } from '#apps/worker/end-run.ts'
import { createProcessGeneration } from '#apps/worker/process-generation.ts'
import { createRunChat } from '#apps/worker/run-chat.ts'
import { createRunEmbedding } from '#apps/worker/run-embedding.ts'
import { createRunningGenerations, type RunningGeneration } from '#apps/worker/running-generations.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import { createOutputParser } from '#libs/dialect/parse-output.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { generationJob } from '../../../support/generation-job.ts'

/** The end tokens of models/tiny. */
export const END_IDS: ReadonlySet<number> = new Set([2_002, 2_000])

export const PROMPT = { tail: 'Hello', ids: Uint32Array.of(1, 2, 3) }

export type Given = {
  engine?: (run: RunningGeneration) => AsyncIterable<EngineOutput>
  job?: Partial<GenerationJob>
  inputs?: TokenizedInputs
  /** Embeds the inputs; without it, all of them. */
  embed?: (run: RunningGeneration, onVector: (tokens: number) => void) => Promise<void>
  claim?: Claim
  stopping?: boolean
  render?: (run: RunningGeneration) => Promise<typeof PROMPT>
  constrain?: () => EngineConstraint | null
  /** Offers tools, and ends with the first call. */
  singleCall?: boolean
}

/** Runs one generation against an engine that a test writes; the record and the bus are lists. */
export async function processUnderTest(tokenizer: Tokenizer, given: Given) {
  const job = { ...generationJob(), ...given.job }
  const events: GenerationEvent[] = []
  const ids: number[] = []
  const settlements: [string, number, number][] = []
  const requests: EngineRequest[] = []
  const seen = { tokens: 0, failures: 0 }
  let opened: RunningGeneration | undefined
  const running = createRunningGenerations({
    publisher: {
      send(_gateway, entry) {
        events.push(entry.event)
        ids.push(...entry.ids)
      },
      pulse: () => {},
      flush: async () => {},
    },
    watchGateway: () => {},
    unwatchGateway: () => {},
    nowMs: () => Date.now(),
  })
  const refuse = async () => {
    throw new Error('not asked in these tests')
  }
  const engine: EngineClient = {
    async *generate(request) {
      requests.push(request)
      if (opened === undefined || given.engine === undefined) throw new Error('nothing to generate')
      yield* given.engine(opened)
    },
    embed: refuse,
    healthCheck: refuse,
    getModelInfo: refuse,
    getServerInfo: refuse,
    close: () => {},
  }
  const log = pino({ level: 'silent' })
  const watch = { tokenSeen: () => (seen.tokens += 1), failureSeen: () => (seen.failures += 1) }
  const worker = 'worker-1'
  const contextWindow = 4_096
  const processGeneration = createProcessGeneration({
    claim: async () => given.claim ?? { status: 'claimed', job },
    open: (of, epoch) => (opened = running.open(of, epoch)),
    isStopping: () => given.stopping ?? false,
    runChat: createRunChat({
      worker,
      model: {
        async renderPrompt() {
          if (opened === undefined || given.render === undefined) return PROMPT
          return await given.render(opened)
        },
        samplingDefaults: {},
        endIds: Array.from(END_IDS),
        constrain: given.constrain ?? (() => null),
        createParser: () =>
          createOutputParser({
            generationId: job.id,
            tokenizer,
            endIds: END_IDS,
            family: { toolCalls: 'hermes', reasoning: 'none', callIds: 'opaque' },
            tools: given.singleCall === true ? [{ name: 'f', description: null, parameters: null }] : [],
            singleCall: given.singleCall ?? false,
            stop: job.request.kind === 'chat' ? job.request.stop : [],
            startsInReasoning: false,
            earlierCalls: 0,
          }),
      },
      engine,
      contextWindow,
      watch,
    }),
    runEmbedding: createRunEmbedding({
      worker,
      tokenizeInputs: async () => given.inputs ?? { status: 'tokenized', inputs: [], tokens: 0 },
      async embedInputs(run, inputs, onVector) {
        if (given.embed !== undefined) return await given.embed(run, onVector)
        for (const ids of inputs) onVector(ids.length)
      },
      contextWindow,
      watch,
    }),
    endRun: createEndRun({
      settlements: {
        add: ({ usage }, outcome) => settlements.push([outcome, usage.promptTokens, usage.completionTokens]),
      },
      watch,
      log,
    }),
  })
  const result = await processGeneration({ id: job.id, epoch: 1 })
  return { result, events, ids, settlements, seen, requests }
}
