import type { Cluster, Redis } from 'ioredis'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { readPrefixSecret } from '#libs/generation-record/prefix-secret.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import { createAffinity, type Affinity } from './affinity.ts'
import type { OwnJob } from './own-job.ts'
import type { StreamCounters } from './stream-metrics.ts'
import { WarmOffer } from './warm-offer.ts'

/** The parts that bring a first turn to the calmest worker, and a later turn to the worker that had the turn before. */
export type WarmOffers = {
  readonly seatsOf: Affinity['seatsOf']
  open(job: OwnJob): WarmOffer
}

/** Reads the secret of the seats' names. Rejects if the queue Redis does not answer. */
export async function openWarmOffers(
  mode: 'on' | 'off',
  deps: {
    redis: Redis | Cluster
    picture: Pick<ClusterPicture, 'findWorker' | 'findCalmest' | 'notePlaced'>
    record: Pick<GenerationRecord, 'reserveLonger' | 'unreserve'>
    control: Pick<ControlSender, 'offer'>
    metrics: Pick<StreamCounters, 'noteOffer'>
  },
): Promise<WarmOffers> {
  const { redis, picture, record, control, metrics } = deps
  const { seatsOf, choose } = createAffinity({
    isOn: mode === 'on',
    secret: await readPrefixSecret(redis),
    picture,
  })
  const ofOffer = {
    choose,
    sendOffer: control.offer,
    record,
    onEnd: metrics.noteOffer,
  }
  return { seatsOf, open: (job) => new WarmOffer(ofOffer, job) }
}
