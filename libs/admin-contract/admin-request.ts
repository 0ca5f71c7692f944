import { toRequest, type HttpRequest } from '#libs/http-contract/to-request.ts'
import { ADMIN_ROOT } from './admin-contract.ts'
import type { Operation } from './operation.ts'

/** A request to the admin interface. Its target begins at the server's root. */
export type AdminRequest = HttpRequest

export function toAdminRequest(operation: Operation, input: Readonly<Record<string, unknown>>): AdminRequest {
  const request = toRequest(operation, input)
  return { ...request, target: ADMIN_ROOT + request.target }
}
