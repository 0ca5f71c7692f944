/** The only spelling of the bus's channels. */

/** One per gateway boot: all events of all its generations. */
export const gatewayChannel = (gateway: string) => `mr:gateway:${gateway}`

/** One per worker boot: what gateways tell it. */
export const workerChannel = (worker: string) => `mr:worker:${worker}`

/** Everybody's heartbeats. */
export const HEARTBEAT_CHANNEL = 'mr:heartbeats'
