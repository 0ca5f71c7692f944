// `npm run proto`: generates proto/types/ after a change of proto/*.proto, so that an editor knows the types. Every
// other script generates them too.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return 0
})
