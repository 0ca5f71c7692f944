import { isIPv4, isIPv6 } from 'node:net'
import { ChannelCredentials, type ChannelOptions, type Client } from '@grpc/grpc-js'
import { formatHostPort, readHostPort } from '#libs/config/host-port.ts'

/**
 * Options of every channel. The peers are inside the cluster, so no proxy is used, and DNS is not asked for a service
 * config. Without the first option, grpc-js uses the proxy of `http_proxy`, `https_proxy` or `grpc_proxy`, for loopback
 * addresses too.
 */
const CHANNEL_OPTIONS = {
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
} as const satisfies ChannelOptions

/**
 * Opens a client of `address`. The client connects at its first call. This is the only place that makes channels. The
 * address is `host:port`, or several IP addresses of one family, separated by commas. The calls are spread over the
 * addresses only if the caller asks for it with the option `grpc.service_config`. The channel is plaintext unless
 * `credentials` are given.
 */
export function openGrpcClient<Opened extends Client>(
  Service: new (target: string, credentials: ChannelCredentials, options: ChannelOptions) => Opened,
  address: string,
  opening: { credentials?: ChannelCredentials; options?: ChannelOptions } = {},
): Opened {
  const { credentials = ChannelCredentials.createInsecure(), options = {} } = opening
  return new Service(toGrpcTarget(address), credentials, { ...options, ...CHANNEL_OPTIONS })
}

/**
 * Returns the target of gRPC's name syntax (https://grpc.github.io/grpc/core/md_doc_naming.html) for an address. The
 * scheme is always written, because a host named like a scheme would be taken for one.
 */
export function toGrpcTarget(address: string): string {
  const places = address.split(',').map(readHostPort)
  const targets = places.map(formatHostPort).join(',')
  if (places.every(({ host }) => isIPv6(host))) return `ipv6:${targets}`
  if (places.every(({ host }) => isIPv4(host))) return `ipv4:${targets}`
  if (places.length > 1) throw new Error(`expected one host, or IP addresses of one family: ${address}`)
  return `dns:${targets}`
}
