import { z } from 'zod'
import { pathOf } from '../admin.ts'
import { toTime } from '../cells.ts'
import { defineCall } from '../command.ts'
import { REASON, argument } from '../fields.ts'
import { formatFields, formatTable } from '../table.ts'

const Credential = z.object({
  id: z.string(),
  name: z.string(),
  role: z.string(),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
})
type Credential = z.infer<typeof Credential>

const create = defineCall({
  name: 'credentials create',
  summary: 'Makes a credential of the operators’ interface and shows its token, once.',
  fields: z.strictObject({
    name: argument('NAME', 'whose it is; never given twice'),
    role: argument('ROLE', 'owner, support or ops'),
    reason: REASON,
  }),
  examples: ['credentials create helpdesk support'],
  request: (body) => ({ method: 'POST', path: '/credentials', body }),
  answer: Credential.extend({ token: z.string() }),
  show: ({ token, ...credential }) =>
    `${showCredential(credential)}\n${token}\nThis is its token. It is shown only here.\n`,
})

const list = defineCall({
  name: 'credentials list',
  summary: 'Lists the credentials, revoked ones too; never their tokens.',
  fields: z.strictObject({}),
  examples: ['credentials list'],
  request: () => ({ method: 'GET', path: '/credentials' }),
  answer: z.object({ data: z.array(Credential) }),
  show: ({ data }) =>
    formatTable(
      [
        { title: 'credential', cell: ({ id }) => id },
        { title: 'name', cell: ({ name }) => name },
        { title: 'role', cell: ({ role }) => role },
        { title: 'created', cell: ({ createdAt }) => toTime(createdAt) },
        { title: 'revoked', cell: ({ revokedAt }) => toTime(revokedAt) },
      ],
      data,
    ),
})

const revoke = defineCall({
  name: 'credentials revoke',
  summary: 'Revokes a credential, for good and at once.',
  fields: z.strictObject({ credential: argument('CREDENTIAL', 'its id'), reason: REASON }),
  examples: ['credentials revoke 0b0f4d1e-7c0c-4f0e-9a56-6f2f9f6f2a10 --reason "left the team"'],
  request: ({ credential, ...body }) => ({
    method: 'POST',
    path: pathOf`/credentials/${credential}/revoke`,
    body,
  }),
  answer: Credential,
  show: showCredential,
})

export const CREDENTIAL_COMMANDS = [create, list, revoke] as const

function showCredential(credential: Credential): string {
  return formatFields([
    ['credential', credential.id],
    ['name', credential.name],
    ['role', credential.role],
    ['created', toTime(credential.createdAt)],
    ['revoked', toTime(credential.revokedAt)],
  ])
}
