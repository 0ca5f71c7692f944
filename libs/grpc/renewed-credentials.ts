import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js'

// The certificate providers of grpc-js (`experimental`) do the same, but their connections listen for one error only.
// If a client refuses a server's certificate, that is the first error. The alert that the server sends then is a second
// error, and would end the process.

/**
 * Credentials of a server whose certificates can be replaced: connections that begin later use the new certificates.
 */
export class RenewedServerCredentials extends ServerCredentials {
  /** With `ca`, clients must have a certificate of that authority. */
  constructor(certificates: SecureContextOptions) {
    super({ requestCert: certificates.ca !== undefined }, certificates)
  }

  renew(certificates: SecureContextOptions): void {
    this.updateSecureContextOptions(certificates)
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}

type Connect = ChannelCredentials['_createSecureConnector']

/** Credentials of a client whose certificates can be replaced in the same way. */
export class RenewedChannelCredentials extends ChannelCredentials {
  #current: ChannelCredentials

  constructor(certificates: SecureContextOptions) {
    super()
    this.#current = toCredentials(certificates)
  }

  renew(certificates: SecureContextOptions): void {
    this.#current = toCredentials(certificates)
  }

  override _isSecure(): boolean {
    return true
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other
  }

  /**
   * The connector delegates to the latest certificates, because a channel asks for one connector and uses it for all of
   * its connections.
   */
  override _createSecureConnector(...target: Parameters<Connect>): ReturnType<Connect> {
    const latest = () => this.#current._createSecureConnector(...target)
    return {
      connect: async (socket) => await latest().connect(socket),
      waitForReady: async () => await latest().waitForReady(),
      getCallCredentials: () => latest().getCallCredentials(),
      destroy: () => {},
    }
  }
}

function toCredentials(certificates: SecureContextOptions): ChannelCredentials {
  return ChannelCredentials.createFromSecureContext(createSecureContext(certificates))
}
