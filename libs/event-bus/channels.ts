import { KEY_PREFIX } from '#libs/generation-record/keys.ts'

/** One channel per gateway boot, for the frames and pulses of its generations. */
export const gatewayChannel = (gateway: string) => `${KEY_PREFIX}gateway:${gateway}`

/** One channel per worker boot, for control messages from gateways. */
export const workerChannel = (worker: string) => `${KEY_PREFIX}worker:${worker}`

/**
 * The channel of the heartbeats of all gateways, or of all workers. Each kind needs only the heartbeats of the other:
 * with one channel for both, each process would receive the heartbeats of all.
 */
export const heartbeatChannel = (kind: 'gateway' | 'worker') => `${KEY_PREFIX}heartbeats:${kind}s`

/**
 * One channel per boot of a gateway or a worker. The process sends messages to itself here, to see that the bus
 * delivers.
 */
export const echoChannel = (id: string) => `${KEY_PREFIX}echo:${id}`

/** Messages from gateways to scalers. */
export const DEMAND_CHANNEL = `${KEY_PREFIX}demand`

/** Messages from workers to scalers. */
export const CAPACITY_CHANNEL = `${KEY_PREFIX}capacity`

/** Messages from the leading scaler to gateways. */
export const MODEL_STATES_CHANNEL = `${KEY_PREFIX}model-states`

/** Messages from consoles to gateways and workers. */
export const OBSERVE_CHANNEL = `${KEY_PREFIX}observe`

/** Messages from gateways and workers to consoles. */
export const REPORTS_CHANNEL = `${KEY_PREFIX}reports`
