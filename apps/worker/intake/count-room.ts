import type { Heartbeat } from '#libs/event-bus/heartbeat.ts'

/**
 * Returns the number of free slots for a model in these worker processes. Engines for which no worker pulls generations
 * are not counted.
 */
export function countRoom(peers: readonly Heartbeat[], model: string): number {
  return peers
    .flatMap((peer) => (peer.kind === 'worker' ? peer.engines : []))
    .filter((engine) => engine.model === model && engine.ready)
    .reduce((room, { slots, running }) => room + Math.max(0, slots - running), 0)
}
