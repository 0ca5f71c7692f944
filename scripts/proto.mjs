// `npm run proto`: generates proto/types/ after a change of proto/*.proto, for the editor; every other script generates them
// as well.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return 0
})
