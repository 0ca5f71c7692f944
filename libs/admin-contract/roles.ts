import { z } from 'zod'

export const Role = z.enum(['owner', 'support', 'ops', 'viewer'])
export type Role = z.infer<typeof Role>

/** Whose act an entry of the audit log is: an operator's, or that of an account, by one of its management keys. */
export const AuditRole = z.enum([...Role.options, 'account'])
export type AuditRole = z.infer<typeof AuditRole>

/**
 * The sets of roles that operations name. Support has customers' accounts, keys and credits; ops the service; a viewer
 * changes nothing.
 */
export const ALL = ['owner', 'support', 'ops', 'viewer'] as const
export const CUSTOMERS = ['owner', 'support'] as const
export const SERVICE = ['owner', 'ops'] as const
export const OWNER = ['owner'] as const
