import { html, type TemplateResult } from 'lit-html'
import { Failure } from '#libs/page-parts/failure.ts'
import { load, showLoaded } from '#libs/page-parts/load.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { read } from '../api.ts'
import type { OpenScreen } from '../app.ts'

type Hit = { readonly what: string; readonly name: string; readonly href: string }

const ANSWER_ID =
  /^(?:chatcmpl-|cmpl-|resp_)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i
/** A secret, whole or as the search box shortens it. Its middle is never sent. */
const SECRET = /^(mr_live_.{4})(?:…(.{4}))?$/

/**
 * Finds requests, accounts and keys by id, accounts and models by a part of their name, and keys by the first or the
 * last characters of their secret. If there is one result, its screen opens.
 */
export const open: OpenScreen = (app, { query }) => {
  const text = query.get('q') ?? ''
  const hits = load(app, async (signal) => {
    const found = (await Promise.all(searches(text, signal))).flat()
    const [only] = found
    // Replaces this screen in the browser's history, so that going back does not return here.
    if (found.length === 1 && only !== undefined) location.replace(only.href)
    return found
  })
  return {
    title: 'Search',
    close: () => hits.close(),
    view: () =>
      html`<h1>Search for “${text}”</h1>
        ${showLoaded(hits, show)}`,
  }
}

function show(hits: readonly Hit[]): TemplateResult {
  if (hits.length === 0) {
    return html`<p>
      Nothing has this id, name or secret. A request that was refused is in the
      <a href="#/requests">live tail</a> while it lasts.
    </p>`
  }
  return html`<ul>
    ${hits.map(
      ({ what, name, href }) =>
        html`<li>
          ${what} <a href=${href}><bdi>${name}</bdi></a>
        </li>`,
    )}
  </ul>`
}

/** Starts one search for each kind of thing that the text may name. */
function searches(text: string, signal: AbortSignal): Promise<Hit[]>[] {
  const id = ANSWER_ID.exec(text)?.[1]
  if (id !== undefined) {
    return [
      orNone(async () => {
        const request = await read('/requests/{request}', { request: id }, signal)
        return [{ what: 'request', name: request.id, href: toHash(['request', request.id]) }]
      }),
      orNone(async () => {
        const account = await read('/accounts/{account}', { account: id }, signal)
        return [{ what: 'account', name: account.name, href: toHash(['account', account.id]) }]
      }),
      orNone(async () => {
        const key = await read('/keys/{key}', { key: id }, signal)
        return [
          {
            what: 'key of the account',
            name: key.name ?? key.last4,
            href: toHash(['account', key.accountId]),
          },
        ]
      }),
    ]
  }
  const [, prefix, last4] = SECRET.exec(text) ?? []
  if (prefix !== undefined) return [byEnds({ prefix, last4 }, signal)]
  return [
    orNone(async () => {
      const { data } = await read('/accounts', { name: text, limit: '20' }, signal)
      return data.map((account) => ({
        what: 'account',
        name: account.name,
        href: toHash(['account', account.id]),
      }))
    }),
    orNone(async () => {
      const { models } = await read('/catalog', {}, signal)
      return models
        .filter(({ id }) => id.includes(text))
        .map(({ id }) => ({ what: 'model', name: id, href: toHash(['model', id]) }))
    }),
    ...(text.length === 4 ? [byEnds({ last4: text }, signal)] : []),
  ]
}

async function byEnds(
  { prefix, last4 }: { prefix?: string; last4: string | undefined },
  signal: AbortSignal,
): Promise<Hit[]> {
  return await orNone(async () => {
    const input = { ...(prefix === undefined ? {} : { prefix }), ...(last4 === undefined ? {} : { last4 }) }
    const { data } = await read('/keys', input, signal)
    return data.map((key) => ({
      what: 'key of the account',
      name: `${key.name ?? 'without a name'} (${key.prefix}…${key.last4})`,
      href: toHash(['account', key.accountId]),
    }))
  })
}

/** Returns no hits if billing answers that the thing does not exist, or that the text is not an id of this kind. */
async function orNone(search: () => Promise<Hit[]>): Promise<Hit[]> {
  try {
    return await search()
  } catch (error) {
    if (error instanceof Failure && (error.status === 404 || error.status === 400)) return []
    throw error
  }
}
