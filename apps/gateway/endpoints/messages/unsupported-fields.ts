import { never, onlyEmpty, type UnsupportedFields } from '../fields/refuse-unsupported.ts'

/**
 * Fields of the Messages interface that would change the output and are not supported, in addition to the fields of
 * `refuse-unsupported.ts`. Every other field is in `MessagesBody` or is ignored.
 */
export const UNSUPPORTED_FIELDS: UnsupportedFields = {
  mcp_servers: { ...onlyEmpty, instead: 'call the servers yourself, and offer their tools in tools' },
  container: { ...never, instead: 'this service runs no code' },
  stop: { ...never, instead: 'send stop_sequences' },
}
