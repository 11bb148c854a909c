import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { Route, Router, useLocation } from 'preact-iso/router'
import { api } from './api/client.ts'
import { account, isOperator, may, session } from './api/session.ts'
import { paths } from './paths.ts'
import { sections } from './sections.ts'
import { hasNumber, isStartHidden, rememberNumber } from './shell/choices.ts'
import { Forbidden, Missing, NotLoaded } from './shell/faults.tsx'
import type { AnyPage, PageRoute } from './shell/section.ts'
import { loadStyle } from './shell/styles.ts'

type RouterProps = AnyPage & { readonly query?: Readonly<Record<string, string>> }

/** True if the session may open a page. */
export const mayOpen = ({ needs, orNeeds }: PageRoute): boolean =>
  needs === 'operator' ? isOperator() : may(needs) || (orNeeds !== undefined && may(orNeeds))

/** Returns the component of a route: loaded on first use, with its rights checked. */
const component = (route: PageRoute, folder: string): ComponentType<RouterProps> => {
  // A chunk of an earlier build is gone after an update: the page says so and offers to reload.
  const Page = lazy(async () => {
    const [loaded] = await Promise.all([route.load().catch(() => NotLoaded), loadStyle(folder)])
    return loaded
  })
  return ({ params, query = {} }) => {
    if (!mayOpen(route)) return <Forbidden needs={route.needs} title={route.title()} />
    return <Page params={params} search={query} />
  }
}

const routes = sections
  .flatMap(({ name, pages }) => pages.map((route) => ({ pattern: route.path.pattern, view: component(route, name) })))
  // `/console/you` is matched before `/console/:account`.
  .sort((a, b) => Number(a.pattern.includes('/:account')) - Number(b.pattern.includes('/:account')))

/** The parts that scroll the page: the window, or the frame where that is narrow (shell.css). */
const scrollers = (): readonly Element[] => [document.documentElement, ...document.querySelectorAll('.frame-main')]

/** Milliseconds in which a page gets its content after going back. */
const restoringMs = 2_000

const scrollPage = (y: number): void => {
  for (const scroller of scrollers()) scroller.scrollTop = y
}

/** Restores the scroll position after going back, once the content is tall enough again. */
const useScrollRestoration = (): void => {
  const { path } = useLocation()
  useLayoutEffect(() => {
    if (!history.state?.y) scrollPage(0)
  }, [path])
  useEffect(() => {
    history.scrollRestoration = 'manual'
    let timer: ReturnType<typeof setTimeout> | undefined
    let ends: AbortController | undefined
    const store = () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        const y = Math.max(...scrollers().map(({ scrollTop }) => scrollTop))
        history.replaceState({ ...history.state, y }, '')
      }, 100)
    }
    const restore = () => {
      clearTimeout(timer)
      const y = Number(history.state?.y ?? 0)
      const end = performance.now() + restoringMs
      ends?.abort()
      const restoring = new AbortController()
      ends = restoring
      const { signal } = restoring
      // The person goes on: the place is theirs.
      for (const input of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
        addEventListener(input, () => restoring.abort(), { passive: true, signal })
      // The former page may be high enough, and is replaced after that: the place is set until the page is complete.
      const step = () => {
        if (signal.aborted) return
        const room = Math.max(...scrollers().map(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight))
        const isOver = y === 0 || performance.now() > end
        if (room >= y || isOver) scrollPage(y)
        if (isOver) restoring.abort()
        else requestAnimationFrame(step)
      }
      requestAnimationFrame(step)
    }
    addEventListener('scroll', store, { passive: true, capture: true })
    addEventListener('popstate', restore)
    return () => {
      removeEventListener('scroll', store, { capture: true })
      removeEventListener('popstate', restore)
    }
  }, [])
}

/** The page at the address. */
export const Pages = () => {
  useScrollRestoration()
  return (
    <Router>
      {routes.map(({ pattern, view }) => (
        <Route key={pattern} path={pattern} component={view} />
      ))}
      <Route default component={Missing} />
    </Router>
  )
}

/** The account that the address names; null for addresses of none. */
export const accountOfPath = (path: string): string | null => /^\/console\/(ACC[^/]+)/.exec(path)?.[1] ?? null

const isStart = ({ path }: PageRoute): boolean => path.pattern === paths.start.pattern

/** True if the start page comes before all others: the account has no number yet, as far as the person may know. */
const needsStart = async (pages: readonly PageRoute[]): Promise<boolean> => {
  if (!pages.some(isStart) || isStartHidden() || hasNumber()) return false
  try {
    const { channels } = await api('GET /open/sms/channels', { query: { results_per_page: 1 } })
    if (channels.length > 0) rememberNumber()
    return channels.length === 0
  } catch {
    return false
  }
}

/** The first page that the session may open in an account. */
export const startPage = async (): Promise<string> => {
  if (account.value?.second_factor_missing) return paths.security()
  const place = session.value?.kind === 'operator-key' && session.value.accounts.length === 0 ? 'operator' : 'account'
  const pages = sections
    .filter((section) => section.place === place)
    .flatMap(({ pages }) => pages)
    .filter((route) => route.isListed && mayOpen(route))
  const isFirst = await needsStart(pages)
  const first = pages.find((route) => isStart(route) === isFirst) ?? pages[0]
  return first ? first.path() : '/console/you'
}
