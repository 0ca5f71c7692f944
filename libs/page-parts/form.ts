import { html, nothing, type TemplateResult } from 'lit-html'
import type { Failure } from './failure.ts'
import { readFields } from './filters.ts'
import { toFailure } from './load.ts'
import type { PageApp } from './page-app.ts'

export type Field = {
  readonly name: string
  readonly label: string
  /** The field's name in the server's errors, if it differs from `name`. */
  readonly param?: string
  readonly kind?: 'text' | 'lines' | 'file' | 'choice' | 'number' | 'date'
  readonly value?: string
  readonly isRequired?: boolean
  /** A sentence below the field. */
  readonly help?: string
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
}

export type Values = Readonly<Record<string, string>>

type Form = {
  readonly title: string
  readonly intro?: unknown
  readonly fields: readonly Field[]
  /** The text that the viewer must type before a change that cannot be undone. */
  readonly confirm?: { readonly label: string; readonly expected: string }
  readonly button: string
  readonly isDangerous?: boolean
  /** True if repeating the request has no further effect, so that it may be sent again after a lost answer. */
  readonly mayRepeat: boolean
  /**
   * Sends the request. Rejects with a Failure if the request fails. If the result is a template, it is shown in place
   * of the form; if it is undefined, the form closes.
   */
  run(values: Values): Promise<TemplateResult | undefined>
}

const CONFIRM = 'confirm'

/**
 * Opens a form. While the form's request is running, the button does nothing, so that the request is sent once. After a
 * lost answer the form says that the outcome is unknown, and offers to send the request again only if `mayRepeat` is
 * true.
 */
export function openForm(app: PageApp, form: Form): void {
  let phase: 'open' | 'sending' | 'unknown' = 'open'
  let failure: Failure | undefined
  let wrong: string | undefined
  let result: TemplateResult | undefined

  async function send(values: Values): Promise<void> {
    phase = 'sending'
    failure = undefined
    wrong = undefined
    app.redraw()
    try {
      result = await form.run(values)
      if (result === undefined) app.closeDialog()
    } catch (error) {
      failure = toFailure(error)
      const { param: refused } = failure
      wrong = form.fields.find(
        ({ name, param }) => refused !== undefined && [name, param].includes(refused),
      )?.name
    }
    phase = failure?.isUnknown === true ? 'unknown' : 'open'
    app.redraw()
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    if (phase === 'sending' || !(event.target instanceof HTMLFormElement)) return
    if (phase === 'unknown' && !form.mayRepeat) return
    const values = readFields(event.target)
    if (form.confirm !== undefined && values[CONFIRM] !== form.confirm.expected) {
      wrong = CONFIRM
      failure = undefined
      app.redraw()
      return
    }
    void send(values)
  }

  app.openDialog(() => {
    if (result !== undefined) {
      return html`<h2 id="dialog-title">${form.title}</h2>
        ${result}
        <div class="buttons">
          <button type="button" class="primary" @click=${() => app.closeDialog()}>Done</button>
        </div>`
    }
    const isBusy = phase === 'sending'
    return html`<h2 id="dialog-title">${form.title}</h2>
      <form @submit=${submit} novalidate>
        ${form.intro === undefined ? nothing : html`<div class="intro">${form.intro}</div>`}
        ${form.fields.map((field) => showField(field, field.name === wrong ? failure?.message : undefined))}
        ${
          form.confirm === undefined
            ? nothing
            : showField(
                { name: CONFIRM, label: form.confirm.label },
                wrong === CONFIRM ? `This is not “${form.confirm.expected}”.` : undefined,
              )
        }
        ${
          failure === undefined || (wrong !== undefined && phase !== 'unknown')
            ? nothing
            : html`<div class="notice bad" role="alert">
                <p>${failure.message}</p>
                ${phase === 'unknown' ? html`<p>${unknownText(form.mayRepeat)}</p>` : nothing}
              </div>`
        }
        <div class="buttons">
          <button type="button" @click=${() => app.closeDialog()}>Cancel</button>
          <button
            type="submit"
            class=${form.isDangerous === true ? 'danger' : 'primary'}
            ?disabled=${isBusy || (phase === 'unknown' && !form.mayRepeat)}
          >
            ${isBusy ? 'Sending …' : phase === 'unknown' && form.mayRepeat ? 'Send the same again' : form.button}
          </button>
        </div>
      </form>`
  })
}

function unknownText(mayRepeat: boolean): string {
  return mayRepeat
    ? 'It is not known whether it was done. Sending the same again does it once.'
    : 'It is not known whether it was done. Close this and look, before you do it again.'
}

function showField({ name, label, kind, value = '', isRequired, help, choices = [] }: Field, error?: string) {
  const described = `${name}-help`
  const note = error ?? help
  const invalid = error === undefined ? nothing : 'true'
  const by = note === undefined ? nothing : described
  const id = `field-${name}`
  return html`<div class="field">
    <label for=${id}
      >${label}${isRequired === true ? html` <span class="dim">(needed)</span>` : nothing}</label
    >
    ${
      kind === 'choice'
        ? html`<select id=${id} name=${name} aria-describedby=${by}>
            ${choices.map(
              (choice) =>
                html`<option value=${choice.value} ?selected=${choice.value === value}>
                  ${choice.label}
                </option>`,
            )}
          </select>`
        : kind === 'lines' || kind === 'file'
          ? html`${kind === 'file' ? filePicker(id, label) : nothing}<textarea
                id=${id}
                name=${name}
                rows="8"
                aria-invalid=${invalid}
                aria-describedby=${by}
              >
${value}</textarea>`
          : html`<input
              id=${id}
              name=${name}
              type=${kind === 'date' ? 'date' : 'text'}
              value=${value}
              autocomplete="off"
              inputmode=${kind === 'number' ? 'decimal' : nothing}
              aria-invalid=${invalid}
              aria-describedby=${by}
            />`
    }
    ${note === undefined ? nothing : html`<p id=${described} class=${error === undefined ? 'dim' : 'wrong'}>${note}</p>`}
  </div>`
}

/**
 * Draws an input that chooses a file. The file's text goes into the field below, where it can be read and changed; text
 * can also be pasted there.
 */
function filePicker(field: string, label: string): TemplateResult {
  async function fill({ target }: Event): Promise<void> {
    const text = target instanceof HTMLInputElement ? await target.files?.[0]?.text() : undefined
    const area = document.getElementById(field)
    if (text !== undefined && area instanceof HTMLTextAreaElement) area.value = text
  }
  return html`<input
    type="file"
    accept=".json,application/json"
    aria-label="${label}: a file"
    @change=${(event: Event) => void fill(event)}
  />`
}
