import { html } from 'lit-html'
import type { OpenScreen } from '../app.ts'

const COMMANDS = [
  {
    does: 'An account with credits',
    command:
      'npx millrace accounts create "my team"\nnpx millrace credits topup ACCOUNT 10 --reason "first credits"',
  },
  { does: 'A key, whose secret is shown once', command: 'npx millrace keys create ACCOUNT --name test' },
  {
    does: 'A request',
    command: `curl -N "$OPENAI_BASE_URL/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY" \\
  -d '{"model":"MODEL","stream":true,"messages":[{"role":"user","content":"Hello!"}]}'`,
  },
] as const

/** The screen of a service that has no accounts, workers or requests yet. */
export const open: OpenScreen = () => ({
  title: 'First steps',
  close() {},
  view: () =>
    html`<h1>First steps</h1>
      ${COMMANDS.map(
        ({ does, command }) =>
          html`<h2>${does}</h2>
            <pre tabindex="0">${command}</pre>`,
      )}
      <p>Accounts and keys can also be made here: <a href="#/accounts">Accounts</a>.</p>`,
})
