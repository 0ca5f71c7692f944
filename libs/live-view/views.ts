import { z } from 'zod'
import {
  ClusterNow,
  EndedRequest,
  ModelLine,
  ModelNow,
  OpenRequest,
  Problem,
  ProcessNow,
  Series,
  TenantNow,
  WorkerNow,
} from './rows.ts'

/** The histories of one model or of the cluster, named by their value. */
export const HISTORIES = ['waiting', 'running', 'asked', 'output', 'refused', 'firstToken'] as const
export type HistoryName = (typeof HISTORIES)[number]

/** The histories that are kept for hours. They are kept for each model, so each name costs memory. */
export const LONG_HISTORIES = ['waiting', 'running'] as const
export type LongHistoryName = (typeof LONG_HISTORIES)[number]

const Histories = z.record(z.enum(HISTORIES), Series)
const LongHistories = z.record(z.enum(LONG_HISTORIES), Series)

/** For each source, how long it has not answered. While a source does not answer, its part of the picture is old. */
const Sources = z.object({
  /** For how long no message has arrived over the bus, in ms; 0 while messages arrive. */
  busAwayMs: z.number(),
  /** For how long the queue Redis has not answered, in ms; 0 while it answers. */
  queueAwayMs: z.number(),
})

/**
 * The parts of each view. A part that is an array of rows is a table, and a delta has only its changed rows. Any other
 * part is a value, and a delta has the whole value if it changed. Histories and sparklines are sent in snapshots only.
 * A viewer that draws them appends the newest numbers itself after each delta.
 */
export const NowView = z.object({
  sources: Sources,
  cluster: ClusterNow,
  problems: z.array(Problem),
  models: z.array(ModelLine),
  /** The cluster's histories: 10 min in steps of 1 s. */
  histories: Histories,
  /** `waiting` of each model: 10 min in steps of 10 s. */
  sparklines: z.record(z.string(), Series),
})
export type NowView = z.infer<typeof NowView>

export const WorkersView = z.object({
  sources: Sources,
  workers: z.array(WorkerNow),
  processes: z.array(ProcessNow),
})
export type WorkersView = z.infer<typeof WorkersView>

/** `ended` begins with the newest request and has at most 500. */
export const RequestsView = z.object({
  sources: Sources,
  open: z.array(OpenRequest),
  ended: z.array(EndedRequest),
})
export type RequestsView = z.infer<typeof RequestsView>

/** The view of one model. `model` is null when no process of the cluster knows it. */
export const ModelView = z.object({
  sources: Sources,
  model: ModelNow.nullable(),
  problems: z.array(Problem),
  tenants: z.array(TenantNow),
  workers: z.array(WorkerNow),
  open: z.array(OpenRequest),
  /** 10 min in steps of 1 s. */
  histories: Histories,
  /** 6 h in steps of 10 s. */
  longHistories: LongHistories,
})
export type ModelView = z.infer<typeof ModelView>
