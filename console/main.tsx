import './common.ts'
import { render } from 'preact'
import { ErrorBoundary } from 'preact-iso/lazy'
import { loadSession, session } from './api/session.ts'
import { App } from './app.tsx'
import { adoptPreferences } from './shell/choices.ts'
import { Unreachable } from './shell/faults.tsx'
import { startKeys } from './shell/shell-keys.ts'
import { startWorker } from './shell/worker.ts'
import { pseudo } from './words/pseudo.ts'
import { chooseLanguage, direction, locale } from './words/section.ts'

/** Milliseconds before attention.ts is loaded again after a failure. */
const retryDelay = 5_000

const app = document.getElementById('app')

/** The language of the person, or of the browser. All texts are English so far; numbers and dates follow the region. */
const languageOf = (): string => {
  const locales = [session.value?.person?.locale, ...navigator.languages]
  return locales.find((tag) => tag?.split('-')[0] === 'en') ?? 'en'
}

/** Signals to a person who looks elsewhere. The first page comes first. */
const startAttention = async (): Promise<void> => {
  try {
    const attention = await import('./live/attention.ts')
    attention.startAttention()
  } catch {
    setTimeout(startAttention, retryDelay)
  }
}

const show = () => {
  adoptPreferences()
  // The pseudo-locale takes the direction of the browser's language.
  if (PSEUDO) chooseLanguage(navigator.language, {}, pseudo)
  else chooseLanguage(languageOf())
  document.documentElement.lang = locale()
  document.documentElement.dir = direction()
  if (!app) return
  // The waiting frame of the page gives way at once to the real one, which has the same shape.
  app.replaceChildren()
  render(
    <ErrorBoundary>
      <App />
    </ErrorBoundary>,
    app,
  )
  void startAttention()
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
