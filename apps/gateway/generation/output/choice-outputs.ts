import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { OutputEvent } from '../request/generation-call.ts'

/** The received output of one choice that is not sent yet. */
class ChoiceOutput {
  events: OutputEvent[] = []
  wasSent = false
  hasEnded = false
}

/**
 * The received output of a generation until it is sent, by choice. A class, because a gateway has one object for each
 * open stream.
 */
export class ChoiceOutputs {
  /** The number of the choice to which the next events belong. */
  choice = 0
  readonly #all: [ChoiceOutput, ...ChoiceOutput[]] = [new ChoiceOutput()]
  #present = this.#all[0]
  /** How many tokens of the prompt were received with their log probabilities. */
  #promptListed = 0

  begin(choice: number): void {
    while (this.#all.length <= choice) this.#all.push(new ChoiceOutput())
    this.choice = choice
    this.#present = this.#all[choice] ?? this.#present
  }

  /** Takes an event. The log probabilities of the prompt that an earlier epoch has sent are dropped. */
  push(event: OutputEvent): void {
    if (event.type !== 'prompt-logprobs') {
      this.#present.events.push(event)
      return
    }
    const known = this.#promptListed - event.first
    if (known >= event.tokens.length) return
    this.#promptListed = event.first + event.tokens.length
    this.#present.events.push(
      known === 0 ? event : { ...event, first: event.first + known, tokens: event.tokens.slice(known) },
    )
  }

  /** Takes the end of the present choice. */
  end(end: GenerationEnd): void {
    this.#present.hasEnded = true
    this.#present.events.push(end)
  }

  isEmpty(): boolean {
    return this.#present.events.length === 0
  }

  /** Returns the events of the present choice, which count as sent from now on; with `whole`, only if it has ended. */
  take({ whole }: { readonly whole: boolean }): readonly OutputEvent[] {
    if (whole && !this.#present.hasEnded) return []
    const { events } = this.#present
    this.#present.events = []
    this.#present.wasSent = true
    return events
  }

  /** Returns whether a part of a choice that has not ended was sent. */
  isPartlySent(): boolean {
    return this.#all.some(({ wasSent, hasEnded }) => wasSent && !hasEnded)
  }

  /** Drops the unsent events of the choices that have not ended. */
  restart(): void {
    for (const choice of this.#all) if (!choice.hasEnded) choice.events = []
  }
}
