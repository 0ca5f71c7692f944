import { KEY_PREFIX } from '#libs/generation-record/keys.ts'

/** One per gateway boot: the frames and pulses of its generations. */
export const gatewayChannel = (gateway: string) => `${KEY_PREFIX}gateway:${gateway}`

/** One per worker boot: control messages from gateways. */
export const workerChannel = (worker: string) => `${KEY_PREFIX}worker:${worker}`

/**
 * The channel of the heartbeats of all gateways, or of all workers. Each kind needs only the heartbeats of the other:
 * with one channel for both, each process would receive the heartbeats of all.
 */
export const heartbeatChannel = (kind: 'gateway' | 'worker') => `${KEY_PREFIX}heartbeats:${kind}s`

/** One per boot of a gateway or a worker: what it sends here shows it that the bus delivers. */
export const echoChannel = (id: string) => `${KEY_PREFIX}echo:${id}`

/** From gateways to scalers. */
export const DEMAND_CHANNEL = `${KEY_PREFIX}demand`

/** From workers to scalers. */
export const CAPACITY_CHANNEL = `${KEY_PREFIX}capacity`

/** From the leading scaler to gateways. */
export const MODEL_STATES_CHANNEL = `${KEY_PREFIX}model-states`

/** From consoles to gateways and workers. */
export const OBSERVE_CHANNEL = `${KEY_PREFIX}observe`

/** From gateways and workers to consoles. */
export const REPORTS_CHANNEL = `${KEY_PREFIX}reports`
