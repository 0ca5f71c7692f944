import type { Cluster, Redis } from 'ioredis'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { readPrefixSecret } from '#libs/queue-redis/prefix-secret.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import { createAffinity, type Affinity, type Seating } from './affinity.ts'
import type { OwnJob } from './own-job.ts'
import type { StreamCounters } from './stream-metrics.ts'
import { HomeWait } from './home-wait.ts'

/** The parts that bring a first turn to the calmest worker, and a later turn to the worker that had the turn before. */
export type WarmOffers = {
  /** Returns whether turns of this model are offered to workers. */
  takesOffers(model: string): boolean
  readonly openSeating: Affinity['open']
  readonly openHomeWait: (job: OwnJob, seating: Seating) => HomeWait
}

/**
 * Opens the offers. The secret of the seats' names is read in the background: until the queue Redis has answered, and if
 * `mode` is `off`, no generation is offered.
 */
export function openWarmOffers(
  mode: 'on' | 'off',
  deps: {
    redis: Redis | Cluster
    picture: Pick<ClusterPicture, 'takesOffers' | 'find' | 'workersOf' | 'findWorker' | 'findCalmest' | 'notePlaced'>
    record: Pick<GenerationRecord, 'leaveHome' | 'claimant'>
    control: Pick<ControlSender, 'look'>
    metrics: Pick<StreamCounters, 'noteHomeWait'>
    log: Logger
  },
): WarmOffers {
  const { redis, picture, record, control, metrics, log } = deps
  let secret: string | null = null
  if (mode === 'on') void readSecret(redis, log).then((read) => (secret = read))
  const affinity = createAffinity({ secret: () => secret, picture })
  const ofWait = { sendLook: control.look, record, onEnd: metrics.noteHomeWait }
  return {
    takesOffers: (model) => secret !== null && picture.takesOffers(model),
    openSeating: affinity.open,
    openHomeWait: (job, seating) => new HomeWait(ofWait, job, seating),
  }
}

/** Resolves with null if the connection is closed before the secret was read. */
async function readSecret(redis: Redis | Cluster, log: Logger): Promise<string | null> {
  return await untilAnswered(async () => await readPrefixSecret(redis), {
    firstPauseMs: 50,
    lastPauseMs: 1_000,
    giveUp: () => redis.status === 'end',
    onFailure: (error) => log.warn({ err: error }, 'the secret of the seats was not read'),
  }).catch(() => null)
}
