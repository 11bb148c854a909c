/** The one Trusted Types policy: it passes the address of the service worker, and nothing else. */
const policy = () => {
  const address = '/console/sw.js'
  const types = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): ScriptPolicy } })
    .trustedTypes
  const rules = {
    createScriptURL: (url: string) => {
      if (url !== address) throw new TypeError(`not the service worker: ${url}`)
      return url
    },
  }
  return types ? types.createPolicy('trunkline', rules).createScriptURL(address) : address
}

type ScriptPolicy = { createScriptURL(url: string): string }

/** Milliseconds after the start: the worker loads all other assets, and the first page comes first. */
const delay = 1_500

/** Starts the service worker once the page is idle. Browsers allow it over HTTPS and on localhost only. */
export const startWorker = (): void => {
  if (!('serviceWorker' in navigator) || DEV) return
  const register = () => {
    // Without a line the browser would report an error for a file that it asks for again at the next start.
    if (navigator.onLine) void navigator.serviceWorker.register(policy(), { scope: '/console' }).catch(() => {})
  }
  const wait = () =>
    'requestIdleCallback' in globalThis ? requestIdleCallback(register, { timeout: 5_000 }) : register()
  setTimeout(wait, delay)
}
