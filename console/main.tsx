import './common.ts'
import { render } from 'preact'
import { ErrorBoundary } from 'preact-iso/lazy'
import { loadSession } from './api/session.ts'
import { App } from './app.tsx'
import { adoptPreferences } from './shell/choices.ts'
import { Unreachable } from './shell/faults.tsx'
import { startKeys } from './shell/keys.ts'
import { startWorker } from './shell/worker.ts'

const app = document.getElementById('app')

const show = () => {
  adoptPreferences()
  if (!app) return
  // The waiting frame of the page gives way at once to the real one, which has the same shape.
  app.replaceChildren()
  render(
    <ErrorBoundary>
      <App />
    </ErrorBoundary>,
    app,
  )
}

startKeys()
loadSession().then(show, () => {
  app?.replaceChildren()
  if (app) render(<Unreachable onReached={show} />, app)
})
startWorker()

if (DEV) {
  const { build } = document.documentElement.dataset
  const look = async () => {
    const response = await fetch('/console/assets/build.txt', { cache: 'no-store' }).catch(() => null)
    if (response?.ok && (await response.text()) !== build) location.reload()
  }
  setInterval(look, 500)
}
