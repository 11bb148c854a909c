/** Runs one bench with its own options: `npm run bench -- sms --rounds 5`. */
const benches: Record<string, () => Promise<unknown>> = {
  calls: () => import('./calls.ts'),
  contacts: () => import('./contacts.ts'),
  lists: () => import('./lists.ts'),
  msgapp: () => import('./msgapp.ts'),
  numbers: () => import('./numbers.ts'),
  queue: () => import('./queue.ts'),
  relay: () => import('./relay.ts'),
  sms: () => import('./sms.ts'),
  voice: () => import('./voice.ts'),
  webhooks: () => import('./webhooks.ts'),
  'whatsapp-web': () => import('./whatsapp-web.ts'),
}

const [name = ''] = process.argv.splice(2, 1)
const bench = benches[name]
if (bench) await bench()
else {
  process.stderr.write(`npm run bench -- NAME [options], where NAME is one of: ${Object.keys(benches).join(', ')}\n`)
  process.exitCode = 2
}
