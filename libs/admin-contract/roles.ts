import { z } from 'zod'

export const Role = z.enum(['owner', 'support', 'ops', 'viewer'])
export type Role = z.infer<typeof Role>

/**
 * The author of an entry in the audit log: the role of an operator, or `account` if a management key made the change.
 */
export const AuditRole = z.enum([...Role.options, 'account'])
export type AuditRole = z.infer<typeof AuditRole>

/**
 * The sets of roles that operations name. Support works on customers' accounts, keys and credits; ops works on the
 * service; a viewer changes nothing.
 */
export const ALL = ['owner', 'support', 'ops', 'viewer'] as const
export const CUSTOMERS = ['owner', 'support'] as const
export const SERVICE = ['owner', 'ops'] as const
export const OWNER = ['owner'] as const
