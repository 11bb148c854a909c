import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { Route, Router } from 'preact-iso/router'
import { isOperator, may, session } from './api/session.ts'
import { paths } from './paths.ts'
import { sections } from './sections.ts'
import { isStartHidden } from './shell/choices.ts'
import { Forbidden, Missing, NotLoaded } from './shell/faults.tsx'
import type { AnyPage, PageRoute } from './shell/section.ts'

type RouterProps = AnyPage & { readonly query?: Readonly<Record<string, string>> }

/** True if the session may open a page. */
export const mayOpen = ({ needs, orNeeds }: PageRoute): boolean =>
  needs === 'operator' ? isOperator() : may(needs) || (orNeeds !== undefined && may(orNeeds))

/** Returns the component of a route: loaded on first use, with its rights checked. */
const component = (route: PageRoute): ComponentType<RouterProps> => {
  // A chunk of an earlier build is gone after an update: the page says so and offers to reload.
  const Page = lazy(() => route.load().catch(() => NotLoaded))
  return ({ params, query = {} }) => {
    if (!mayOpen(route)) return <Forbidden needs={route.needs} title={route.title()} />
    return <Page params={params} search={query} />
  }
}

const routes = sections
  .flatMap(({ pages }) => pages)
  .map((route) => ({ pattern: route.path.pattern, view: component(route) }))
  // `/console/you` is matched before `/console/:account`.
  .sort((a, b) => Number(a.pattern.includes('/:account')) - Number(b.pattern.includes('/:account')))

/** Restores the scroll position after going back, once the content is tall enough again. */
const useScrollRestoration = (): void => {
  useEffect(() => {
    history.scrollRestoration = 'manual'
    let timer: ReturnType<typeof setTimeout> | undefined
    const store = () => {
      clearTimeout(timer)
      timer = setTimeout(() => history.replaceState({ ...history.state, y: scrollY }, ''), 100)
    }
    const restore = () => {
      clearTimeout(timer)
      const y = Number(history.state?.y ?? 0)
      const end = performance.now() + 1_000
      const step = () => {
        const room = document.documentElement.scrollHeight - innerHeight
        if (room < y && performance.now() < end) requestAnimationFrame(step)
        else scrollTo(0, y)
      }
      requestAnimationFrame(step)
    }
    addEventListener('scroll', store, { passive: true })
    addEventListener('popstate', restore)
    return () => {
      removeEventListener('scroll', store)
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

/** A start page that the person needs no more. */
const isPassedOver = ({ pattern }: PageRoute['path']): boolean => pattern === paths.start.pattern && isStartHidden()

/** The first page that the session may open in an account. */
export const startPage = (): string => {
  const place = session.value?.kind === 'operator-key' && session.value.accounts.length === 0 ? 'operator' : 'account'
  const pages = sections.filter((section) => section.place === place).flatMap(({ pages }) => pages)
  const first =
    pages.find((route) => route.isListed && mayOpen(route) && !isPassedOver(route.path)) ??
    pages.find((route) => route.isListed && mayOpen(route))
  return first ? first.path() : '/console/you'
}
