import { loadPage, type Page } from '#libs/pages/load-page.ts'

/** The console's page, ready to be served. */
export async function loadConsolePage(): Promise<Page> {
  return await loadPage({
    html: new URL('../page/index.html', import.meta.url),
    assets: '/assets',
    packages: { 'lit-html': 'lit-html.js', uplot: 'dist/uPlot.esm.js' },
  })
}
