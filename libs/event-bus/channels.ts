/** One per gateway boot: the frames and pulses of its generations. */
export const gatewayChannel = (gateway: string) => `mr:gateway:${gateway}`

/** One per worker boot: control messages from gateways. */
export const workerChannel = (worker: string) => `mr:worker:${worker}`

/** The heartbeats of all gateways and workers. */
export const HEARTBEAT_CHANNEL = 'mr:heartbeats'
