import type { Counter, Registry } from '@prometheus-io/client'
import type { GenerationDeclined } from '#libs/contracts/generation-event.ts'
import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import type { NoteEncoded } from '#libs/tokenizer/encoding/encode-pieces.ts'

export type WorkerMetrics = {
  generations: Counter<'model' | 'result'>
  /** Counts a generation that was handed back. */
  noteHandBack(model: string, reason: GenerationDeclined['reason']): void
  continued: Counter<'model'>
  replayedTokens: Counter<'model'>
  moneyEnds: Counter<'model'>
  events: Counter
  frames: Counter
  resentFrames: Counter
  notePromptTexts: NoteEncoded
}

/** Labels are bounded: a worker has few models, a result is one of two, and a reason one of five. */
export function createWorkerMetrics(options: {
  registry: Registry
  engines: () => readonly EngineState[]
  pendingSettlements: () => number
  keptBytes: () => number
  draining: () => boolean
  /** How long the drain has lasted or took, in ms; 0 before it begins. */
  drainMs: () => number
}): WorkerMetrics {
  const { engines, pendingSettlements, keptBytes, draining, drainMs } = options
  const { counter, gauge } = declareMetrics(options.registry)
  gauge({
    name: 'millrace_worker_slots',
    help: 'Generations that the engine can run at once',
    labelNames: ['model'],
    read: () => engines().map(({ model, slots }) => [{ model }, slots]),
  })
  gauge({
    name: 'millrace_worker_running',
    help: 'Generations that run now',
    labelNames: ['model'],
    read: () => engines().map(({ model, running }) => [{ model }, running]),
  })
  gauge({
    name: 'millrace_worker_pending_settlements',
    help: 'Settlements for dead gateways that the queue Redis has not answered yet',
    read: pendingSettlements,
  })
  gauge({
    name: 'millrace_worker_kept_bytes',
    help: 'Frames that are kept until their gateways have acknowledged them',
    read: keptBytes,
  })
  gauge({
    name: 'millrace_worker_draining',
    help: '1 while the worker takes nothing more, because it is to stop',
    read: () => (draining() ? 1 : 0),
  })
  gauge({
    name: 'millrace_worker_drain_seconds',
    help: 'For how long the worker has drained, or how long its drain took; 0 before it',
    read: () => drainMs() / 1_000,
  })
  const handedBack = counter({
    name: 'millrace_worker_handed_back_total',
    help: 'Generations that were handed back, to continue or begin elsewhere',
    labelNames: ['model', 'reason'],
  })
  const declines = counter({
    name: 'millrace_worker_declines_total',
    help: 'Those of the generations handed back that this worker cannot run as they were claimed',
    labelNames: ['model', 'reason'],
  })
  const promptTexts = counter({
    name: 'millrace_worker_prompt_texts_total',
    help: 'Texts of prompts, between special tokens, by whether their ids were cached or had to be encoded',
    labelNames: ['ids'],
  })

  return {
    notePromptTexts({ cached, encoded }) {
      promptTexts.inc({ ids: 'cached' }, cached)
      promptTexts.inc({ ids: 'encoded' }, encoded)
    },
    noteHandBack(model, reason) {
      handedBack.inc({ model, reason })
      if (!ITS_OWN_END.has(reason)) declines.inc({ model, reason })
    },
    generations: counter({
      name: 'millrace_worker_generations_total',
      help: 'Generations that were claimed and ended here, by whether the engine worked for them',
      labelNames: ['model', 'result'],
    }),
    continued: counter({
      name: 'millrace_worker_continued_total',
      help: 'Generations that another worker had begun, and that were continued here',
      labelNames: ['model'],
    }),
    replayedTokens: counter({
      name: 'millrace_worker_replayed_tokens_total',
      help: 'Output tokens of continued generations, which the engine got as a part of the prompt',
      labelNames: ['model'],
    }),
    moneyEnds: counter({
      name: 'millrace_worker_money_ends_total',
      help: 'Answers that were cut, because their hold was used up and could not grow',
      labelNames: ['model'],
    }),
    events: counter({ name: 'millrace_worker_events_total', help: 'Events published' }),
    frames: counter({ name: 'millrace_worker_frames_total', help: 'Frames published' }),
    resentFrames: counter({
      name: 'millrace_worker_resent_frames_total',
      help: 'Frames published again, because a gateway missed them',
    }),
  }
}

/** Reasons that lie with the worker or its engine, not with the generation. */
const ITS_OWN_END: ReadonlySet<GenerationDeclined['reason']> = new Set(['worker-stopping', 'engine-lost'])
