import { keyPrefix } from '#libs/queue-redis/keys.ts'

/** One channel per gateway boot, for the frames and pulses of its generations. */
export const gatewayChannel = (gateway: string) => `${keyPrefix()}gateway:${gateway}`

/** One channel per worker boot, for control messages from gateways. */
export const workerChannel = (worker: string) => `${keyPrefix()}worker:${worker}`

/**
 * One channel per worker boot for each other kind of sender. Redis gives the right to publish by channel, so the channel
 * proves who has sent a message.
 */
export const ordersChannel = (by: 'scaler' | 'operator', worker: string) =>
  `${keyPrefix()}${by}-orders:${worker}`

/**
 * The channel of the heartbeats of all gateways, or of all workers. Gateways, scalers and consoles need only the
 * heartbeats of workers, and workers only the heartbeats of gateways.
 */
export const heartbeatChannel = (kind: 'gateway' | 'worker') => `${keyPrefix()}heartbeats:${kind}s`

/**
 * One channel per boot of a gateway or a worker. The process sends messages to itself here, to see that the bus
 * delivers.
 */
export const echoChannel = (id: string) => `${keyPrefix()}echo:${id}`

/** Messages from gateways to scalers and consoles. */
export const demandChannel = () => `${keyPrefix()}demand`

/** Messages from the leading scaler to gateways and consoles. */
export const modelStatesChannel = () => `${keyPrefix()}model-states`

/** Messages from consoles to gateways and workers. */
export const observeChannel = () => `${keyPrefix()}observe`

/** Messages from gateways and workers to consoles. */
export const reportsChannel = () => `${keyPrefix()}reports`
