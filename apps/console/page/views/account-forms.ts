import { html } from 'lit-html'
import { openForm } from '#libs/page-parts/form.ts'
import { credits, exactCredits } from '#libs/page-parts/money.ts'
import { change, type Answer } from '../api.ts'
import type { App } from '../app.ts'

type Account = Answer<'/accounts/{account}'>

/**
 * Opens the form that moves credits. Its idempotency key is made when the form opens, so that a double click, or a
 * repetition after a lost answer, moves the credits once.
 */
export function moveCredits(
  app: App,
  { account, kind, changed }: { account: Account; kind: 'topup' | 'adjustment'; changed: () => void },
): void {
  const idempotencyKey = crypto.randomUUID()
  const isTopUp = kind === 'topup'
  openForm(app, {
    title: isTopUp ? 'Top up' : 'Adjust',
    intro: html`<p>
      ${isTopUp ? 'Gives credits that were paid for to' : 'Corrects the balance of'}
      <bdi>${account.name}</bdi>, which has ${credits(account.availableNano)} credits available.
    </p>`,
    fields: [
      {
        name: 'credits',
        label: 'Credits',
        kind: 'number',
        isRequired: true,
        help: isTopUp ? 'Such as 25 or 0.5.' : 'Such as 2.5 to give, or -2.5 to take.',
      },
      { name: 'reason', label: 'Reason', isRequired: true, help: 'For the readers of the log.' },
    ],
    button: isTopUp ? 'Give the credits' : 'Adjust the balance',
    mayRepeat: true,
    async run({ credits: amount = '', reason = '' }) {
      const input = { account: account.id, credits: amount, idempotencyKey, reason }
      const moved = isTopUp
        ? await change('/accounts/{account}/topups', input)
        : await change('/accounts/{account}/adjustments', input)
      changed()
      const balance = exactCredits(moved.postedNano)
      return html`<p>
        ${
          moved.replayed
            ? `It had been done before, and was not done again (replayed). The balance is ${balance} credits.`
            : `Moved ${exactCredits(moved.amountNano)} credits. The balance is ${balance} credits.`
        }
      </p>`
    },
  })
}

export function changeWeight(app: App, account: Account, changed: () => void): void {
  openForm(app, {
    title: 'Change the weight',
    intro: html`<p>
      The weight is the number of tokens that <bdi>${account.name}</bdi> gets from a saturated model for each
      token of an account with weight 1.
    </p>`,
    fields: [
      {
        name: 'weight',
        label: 'Weight',
        kind: 'number',
        isRequired: true,
        help: `A whole number from 1 to 100; now ${account.weight}.`,
      },
      { name: 'reason', label: 'Reason', isRequired: true, help: 'For the readers of the log.' },
    ],
    button: 'Change the weight',
    mayRepeat: true,
    async run({ weight = '', reason = '' }) {
      const input = { account: account.id, weight: Number(weight), reason }
      const { weight: given } = await change('/accounts/{account}', input, { method: 'PATCH' })
      app.say(`The weight is ${given}.`)
      changed()
      return undefined
    },
  })
}

export function closeOrReopen(app: App, account: Account, changed: () => void): void {
  const isOpen = account.status === 'active'
  openForm(app, {
    title: isOpen ? 'Close account' : 'Reopen account',
    intro: isOpen
      ? html`<p>The keys of <bdi>${account.name}</bdi> stop working at once. Its balance stays.</p>`
      : html`<p>The keys that <bdi>${account.name}</bdi> had work again.</p>`,
    fields: [{ name: 'reason', label: 'Reason', isRequired: true }],
    ...(isOpen
      ? { confirm: { label: `Type the account’s name: ${account.name}`, expected: account.name } }
      : {}),
    button: isOpen ? 'Close the account' : 'Reopen the account',
    isDangerous: isOpen,
    // Closing a closed account changes nothing.
    mayRepeat: true,
    async run({ reason = '' }) {
      const input = { account: account.id, reason }
      if (isOpen) await change('/accounts/{account}/close', input)
      else await change('/accounts/{account}/reopen', input)
      app.say(isOpen ? 'The account is closed.' : 'The account is open again.')
      changed()
      return undefined
    },
  })
}
