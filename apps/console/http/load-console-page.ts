import { loadPage, type Page } from '#libs/pages/load-page.ts'

/** Loads the console's page and its files. */
export async function loadConsolePage(): Promise<Page> {
  return await loadPage({
    html: new URL('../page/index.html', import.meta.url),
    assets: '/assets',
    packages: { 'lit-html': 'lit-html.js', uplot: 'dist/uPlot.esm.js' },
  })
}
