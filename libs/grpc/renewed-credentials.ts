import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js'

// grpc-js itself has credentials whose certificates can be replaced
// (`experimental.createCertificateProviderServerCredentials` and `createCertificateProviderChannelCredentials`). They
// are not used here, because the client's credentials of grpc-js can end the process. They listen for only one error of
// each TLS connection. If the client refuses the certificate of a server, this is the first error. The server's alert,
// which arrives afterwards, is a second error, for which nothing listens.

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
   * The returned connector reads the latest certificates for each connection, because a channel asks for a connector
   * once and uses it for all of its connections.
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
