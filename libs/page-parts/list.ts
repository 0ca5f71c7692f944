import { html, nothing, type TemplateResult } from 'lit-html'
import { showFailure, showWaiting, type LoadingList } from './load.ts'

/** Shows a list that is read in pages, with a button for the next page. */
export function showList<Entry>(
  list: LoadingList<Entry>,
  view: (entries: readonly Entry[]) => TemplateResult,
): TemplateResult {
  const { entries, failure, hasMore, isLoading } = list
  return html`${entries === undefined ? (failure === undefined ? showWaiting() : nothing) : view(entries)}
  ${failure === undefined ? nothing : showFailure(failure, () => list.retry())}
  ${
    hasMore && failure === undefined
      ? html`<p class="more">
          <button type="button" ?disabled=${isLoading} @click=${() => list.more()}>
            ${isLoading ? 'Loading …' : 'Show more'}
          </button>
        </p>`
      : nothing
  }`
}
