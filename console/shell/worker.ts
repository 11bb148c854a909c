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

/** Starts the service worker once the page is idle. Browsers allow it over HTTPS and on localhost only. */
export const startWorker = (): void => {
  if (!('serviceWorker' in navigator) || DEV) return
  const start = () => void navigator.serviceWorker.register(policy(), { scope: '/console' }).catch(() => {})
  if ('requestIdleCallback' in globalThis) requestIdleCallback(start, { timeout: 5_000 })
  else setTimeout(start, 2_000)
}
