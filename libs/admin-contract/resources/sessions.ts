import { z } from 'zod'
import { Flag, Id, Text, Time } from '../fields.ts'
import { defineChange, defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, Role } from '../roles.ts'

/** A session ends this long after it began, even if it is in use. */
export const SESSION_HOURS = 12

/** A session ends this long after its last request. */
export const SESSION_IDLE_MINUTES = 60

/** Only a session younger than this may create and revoke credentials. */
export const FRESH_SESSION_MINUTES = 10

export const TICKET_SECONDS = 60

const UserAgent = Text.trim().min(1).max(300)

export const Session = z
  .object({
    id: Id,
    name: z.string().meta({ description: 'Of the credential that it belongs to.' }),
    role: Role,
    userAgent: z.string().nullable(),
    createdAt: Time,
    lastUsedAt: Time.meta({ description: 'To the minute.' }),
    expiresAt: Time.meta({
      description: 'The session ends then at the latest, or before if it is not used.',
    }),
    endedAt: Time.nullable().meta({ description: 'Null for one that expired by itself, too.' }),
    open: z.boolean(),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>

const NewSession = z
  .object({
    kind: z.literal('session'),
    token: z.string().meta({ description: 'Shown only here; stored as its hash.' }),
    session: Session,
  })
  .meta({ id: 'NewSession' })

const Ticket = z
  .object({
    kind: z.literal('ticket'),
    ticket: z.string().meta({ description: 'The bearer token of one claimSession.' }),
    expiresAt: Time,
  })
  .meta({ id: 'SessionTicket' })

export const SESSIONS = {
  openSession: defineChange({
    method: 'POST',
    path: '/sessions',
    status: 201,
    summary: 'Opens a session and shows its token, once; or hands out a ticket for one.',
    description: `A session has the name and the role of the credential that opened it. It lasts ${SESSION_HOURS} hours, ${SESSION_IDLE_MINUTES} minutes without a request, until it is ended, or until its credential is revoked (of the configured token: replaced). It cannot open another one. A credential has 100 open sessions at most: one more ends the one that was not used for the longest time. A ticket can be claimed once, within ${TICKET_SECONDS} s.`,
    roles: ALL,
    body: z.strictObject({
      ticket: z.boolean().default(false),
      userAgent: UserAgent.optional(),
    }),
    answer: z.discriminatedUnion('kind', [NewSession, Ticket]).meta({ id: 'OpenedSession' }),
  }),

  claimSession: defineChange({
    method: 'POST',
    path: '/sessions/claim',
    status: 201,
    summary:
      'Turns a ticket into a session: the ticket is the bearer token, and works for this operation only.',
    roles: ALL,
    body: z.strictObject({ userAgent: UserAgent.optional() }),
    answer: NewSession,
  }),

  listSessions: defineRead({
    path: '/sessions',
    summary: 'Lists the sessions of the last 30 days, the newest first: an owner sees all, others their own.',
    description:
      'Those of an earlier configured token do not work any more, and count as open until they expire.',
    roles: ALL,
    query: z.strictObject({
      open: Flag.optional().meta({ description: 'true: only open ones; false: only others.' }),
      ...PAGE,
    }),
    answer: pageOf('SessionPage', Session),
  }),

  endSession: defineChange({
    method: 'POST',
    path: '/sessions/{session}/end',
    summary: 'Ends a session at once: an owner any, others their own.',
    roles: ALL,
    params: z.strictObject({
      session: z
        .union([z.literal('current'), Id])
        .meta({ description: 'Its id, or current: the session whose token the request has.' }),
    }),
    answer: Session,
    errors: ['not_found'],
  }),
}
