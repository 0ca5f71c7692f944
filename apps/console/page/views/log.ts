import { html, nothing, type TemplateResult } from 'lit-html'
import type { Role } from '#libs/admin-contract/roles.ts'
import { onFilter } from '#libs/page-parts/filters.ts'
import { openForm } from '#libs/page-parts/form.ts'
import { copy, shortId } from '#libs/page-parts/id.ts'
import { showList } from '#libs/page-parts/list.ts'
import { load, loadList, showLoaded } from '#libs/page-parts/load.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { moment } from '#libs/page-parts/time.ts'
import { change, read, type Item } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { may } from '../roles.ts'

type Entry = Item<'/audit'>
type Credential = Item<'/credentials'>
type Session = Item<'/sessions'>

/** The log of changes with their authors, the open sessions, and the credentials. */
export const open: OpenScreen = (app, { query }) => {
  const wanted = {
    actor: query.get('actor') ?? '',
    action: query.get('action') ?? '',
    target: query.get('target') ?? '',
  }
  const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ''))
  const entries = loadList(app, async (cursor, signal) =>
    read('/audit', { limit: '50', ...given, cursor }, signal),
  )
  const sessions = loadList(app, async (cursor, signal) =>
    read('/sessions', { open: 'true', limit: '20', cursor }, signal),
  )
  const credentials = may(app, 'listCredentials')
    ? load(app, async (signal) => read('/credentials', {}, signal))
    : undefined
  const filter = onFilter(['log'])

  return {
    title: 'Log',
    close() {
      entries.close()
      sessions.close()
      credentials?.close()
    },
    view: () =>
      html`<h1>Log</h1>
        <section>
          <h2>Changes</h2>
          <form class="filters" @submit=${filter}>
            ${(['actor', 'action', 'target'] as const).map(
              (name) =>
                html`<label
                  >${name === 'actor' ? 'By' : name === 'action' ? 'Operation' : 'Id of what changed'}
                  <input name=${name} .value=${wanted[name]} autocomplete="off"
                /></label>`,
            )}
            <button type="submit">Filter</button>
          </form>
          ${showList(entries, (rows) =>
            table({
              caption: 'Changes, the newest first',
              columns: ENTRY_COLUMNS,
              rows,
              key: ({ seq }) => seq,
              empty: 'No change matches.',
            }),
          )}
        </section>
        <section>
          <h2>Open sessions</h2>
          ${showList(sessions, (rows) => sessionTable(app, rows, () => sessions.reload()))}
        </section>
        ${
          credentials === undefined
            ? nothing
            : html`<section>
                <div class="head">
                  <h2>Credentials</h2>
                  <button type="button" @click=${() => createCredential(app, () => credentials.reload())}>
                    New credential
                  </button>
                </div>
                ${showLoaded(credentials, ({ data }) => credentialTable(app, data, () => credentials.reload()))}
              </section>`
        }`,
  }
}

const ENTRY_COLUMNS: readonly Column<Entry>[] = [
  { name: 'At', cell: ({ at }) => moment(at) },
  { name: 'By', cell: ({ actor, role }) => html`<bdi>${actor}</bdi> <span class="dim">${role}</span>` },
  { name: 'Operation', cell: ({ action }) => action },
  { name: 'Of', from: 'medium', cell: ({ target }) => (target === null ? '–' : toTarget(target)) },
  { name: 'Reason', from: 'medium', cell: ({ reason }) => html`<span class="prose">${reason ?? '–'}</span>` },
  {
    name: 'Details',
    from: 'wide',
    cell: ({ details }) =>
      Object.keys(details).length === 0
        ? '–'
        : html`<details>
            <summary>show</summary>
            <pre>${JSON.stringify(details, null, 2)}</pre>
          </details>`,
  },
]

/** Links to the search, which finds a target of any kind. */
function toTarget(target: string): TemplateResult {
  return html`<a href=${toHash(['find'], { q: target })}>${shortId(target)}</a>`
}

function sessionTable(app: App, sessions: readonly Session[], changed: () => void): TemplateResult {
  return table<Session>({
    caption: 'Open sessions, the newest first',
    rows: sessions,
    key: ({ id }) => id,
    empty: 'There is no open session.',
    columns: [
      {
        name: 'Credential',
        cell: ({ id, name, role }) =>
          html`<bdi>${name}</bdi>
            <span class="dim">${role}${id === app.me.session?.id ? ' · this one' : ''}</span>`,
      },
      { name: 'Since', from: 'medium', cell: ({ createdAt }) => moment(createdAt) },
      { name: 'Used', cell: ({ lastUsedAt }) => moment(lastUsedAt) },
      {
        name: 'Browser',
        from: 'wide',
        cell: ({ userAgent }) => html`<span class="prose">${userAgent ?? '–'}</span>`,
      },
      {
        name: 'Actions',
        cell: (session) =>
          html`<button type="button" class="quiet danger" @click=${() => endSession(app, session, changed)}>
            end
          </button>`,
      },
    ],
  })
}

function endSession(app: App, { id, name }: Session, changed: () => void): void {
  openForm(app, {
    title: 'End a session',
    intro: html`<p>The browser with this session of <bdi>${name}</bdi> must sign in again.</p>`,
    fields: [],
    button: 'End the session',
    isDangerous: true,
    mayRepeat: true,
    async run() {
      await change('/sessions/{session}/end', { session: id })
      app.say('The session has ended.')
      changed()
      return undefined
    },
  })
}

function credentialTable(app: App, credentials: readonly Credential[], changed: () => void): TemplateResult {
  return table<Credential>({
    caption: 'Credentials',
    rows: credentials,
    key: ({ id }) => id,
    empty: 'There is none but the configured token.',
    columns: [
      { name: 'Name', cell: ({ name }) => html`<bdi>${name}</bdi>` },
      { name: 'Role', cell: ({ role }) => role },
      {
        name: 'State',
        cell: ({ revokedAt }) => (revokedAt === null ? mark('good', 'active') : mark('off', 'revoked')),
      },
      { name: 'Created', from: 'medium', cell: ({ createdAt }) => moment(createdAt) },
      {
        name: 'Actions',
        cell: (credential) =>
          credential.revokedAt !== null
            ? html`<span class="dim">–</span>`
            : html`<button
                type="button"
                class="quiet danger"
                aria-label="revoke ${credential.name}"
                @click=${() => revokeCredential(app, credential, changed)}
              >
                revoke
              </button>`,
      },
    ],
  })
}

/** The rights of each role, in the order in which they are offered. */
const ROLES: Readonly<Record<Role, string>> = {
  viewer: 'sees everything, changes nothing',
  support: 'accounts, keys, credits',
  ops: 'the service',
  owner: 'everything',
}

const isRole = (text: string | undefined): text is Role => text !== undefined && text in ROLES

function createCredential(app: App, changed: () => void): void {
  openForm(app, {
    title: 'New credential',
    intro: html`<p>Its token is shown once. A session older than ten minutes must sign in again first.</p>`,
    fields: [
      {
        name: 'name',
        label: 'Name',
        isRequired: true,
        help: 'Of the person or the program; the log names it.',
      },
      {
        name: 'role',
        label: 'Role',
        kind: 'choice',
        value: 'viewer',
        choices: Object.entries(ROLES).map(([role, may]) => ({ value: role, label: `${role}: ${may}` })),
      },
      { name: 'reason', label: 'Reason' },
    ],
    button: 'Create the credential',
    mayRepeat: false,
    async run({ name = '', role, reason = '' }) {
      const made = await change('/credentials', {
        name,
        role: isRole(role) ? role : 'viewer',
        ...(reason === '' ? {} : { reason }),
      })
      changed()
      return html`<p>This is the only time that the token is shown.</p>
        <p class="secret"><code>${made.token}</code></p>
        <p><button type="button" @click=${() => void copy(made.token, app.say)}>Copy the token</button></p>`
    },
  })
}

function revokeCredential(app: App, { id, name }: Credential, changed: () => void): void {
  openForm(app, {
    title: 'Revoke a credential',
    intro: html`<p>Permanently: its token and its sessions end at once.</p>`,
    fields: [{ name: 'reason', label: 'Reason' }],
    confirm: { label: `Type the credential’s name: ${name}`, expected: name },
    button: 'Revoke the credential',
    isDangerous: true,
    mayRepeat: true,
    async run({ reason = '' }) {
      await change('/credentials/{credential}/revoke', {
        credential: id,
        ...(reason === '' ? {} : { reason }),
      })
      app.say('The credential is revoked.')
      changed()
      return undefined
    },
  })
}
