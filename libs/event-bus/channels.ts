import { KEY_PREFIX } from '#libs/generation-record/keys.ts'

/** One per gateway boot: the frames and pulses of its generations. */
export const gatewayChannel = (gateway: string) => `${KEY_PREFIX}gateway:${gateway}`

/** One per worker boot: control messages from gateways. */
export const workerChannel = (worker: string) => `${KEY_PREFIX}worker:${worker}`

/** The heartbeats of all gateways and workers. */
export const HEARTBEAT_CHANNEL = `${KEY_PREFIX}heartbeats`

/** From gateways to scalers. */
export const DEMAND_CHANNEL = `${KEY_PREFIX}demand`

/** From workers to scalers. */
export const CAPACITY_CHANNEL = `${KEY_PREFIX}capacity`

/** From the leading scaler to gateways. */
export const MODEL_STATES_CHANNEL = `${KEY_PREFIX}model-states`
