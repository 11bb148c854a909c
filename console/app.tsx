import { useEffect, useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { LocationProvider, useLocation } from 'preact-iso/router'
import {
  account,
  enterAccount,
  entered,
  isOperator,
  leaving,
  refreshSession,
  selectAccount,
  session,
} from './api/session.ts'
import { onNotificationClick } from './live/notification-click.ts'
import { followAccount, onLiveFrame } from './live/socket.ts'
import { ToastHost } from './parts/toast.tsx'
import { paths } from './paths.ts'
import { accountOfPath, mayOpen, Pages, startPage } from './router.tsx'
import { sections } from './sections.ts'
import { chooseDensity, chooseTheme, density, lastAccount, rememberAccount, theme, themes } from './shell/choices.ts'
import { NoAccount, NotLoaded } from './shell/faults.tsx'
import { Frame, WaitingFrame } from './shell/frame.tsx'
import { isHelpOpen, isPaletteOpen, openHelp, openPalette } from './shell/open-palette.ts'
import { callNumber } from './shell/phone.ts'
import { Recovery } from './shell/recovery.tsx'
import { type Shortcut, useShortcuts } from './shell/shell-keys.ts'
import { words } from './words/en/shell.ts'

const lazily = <T,>(load: () => Promise<T>) => lazy(() => load().catch(() => NotLoaded as unknown as T))

const Palette = lazily(() => import('./shell/palette.tsx').then(({ Palette }) => Palette))
const Help = lazily(() => import('./shell/help.tsx').then(({ Help }) => Help))
const SignInPage = lazily(() => import('./session/sign-in.tsx').then(({ SignInPage }) => SignInPage))
const ClaimPage = lazily(() => import('./session/claim.tsx').then(({ ClaimPage }) => ClaimPage))
const InvitationPage = lazily(() => import('./session/invitation.tsx').then(({ InvitationPage }) => InvitationPage))
const ForgottenPage = lazily(() => import('./session/forgotten.tsx').then(({ ForgottenPage }) => ForgottenPage))
const EmailProofPage = lazily(() => import('./session/email-proof.tsx').then(({ EmailProofPage }) => EmailProofPage))

leaving.prepare = async () => {
  try {
    return await (await import('./inbox/draft-removal.ts')).prepareToForget()
  } catch {
    // Signing out comes first.
    return async () => {}
  }
}

/** True until the session was read over a new line: another process may not know its new rights at once. */
let areRightsOld = false

onLiveFrame((frame) => {
  // The rights of the session changed.
  const hasChanged = frame.type === 'bye' && frame.code === 4403
  const isNewLine = frame.type === 'hello'
  if (hasChanged || (isNewLine && areRightsOld)) refreshSession()
  areRightsOld = hasChanged || (areRightsOld && !isNewLine)
})

/** Pages for people without a session, by their address. */
const outside = new Map([
  [paths.signIn.pattern as string, SignInPage],
  [paths.claim.pattern, ClaimPage],
  [paths.invitation.pattern, InvitationPage],
  [paths.forgotten.pattern, ForgottenPage],
  [paths.emailProof.pattern, EmailProofPage],
])

/** Selects the account that the address names, or the last one. */
const useAccountOf = (path: string): 'known' | 'unknown' | 'entering' => {
  const [refused, setRefused] = useState<string>()
  const named = accountOfPath(path)
  const accounts = [...(session.value?.accounts ?? []), ...entered.value]
  const found = accounts.find(({ uuid }) => uuid === named)
  const remembered = accounts.find(({ uuid }) => uuid === (account.value?.uuid ?? lastAccount())) ?? accounts[0]
  const selected = (named ? found : remembered) ?? null
  if (selected !== account.value) selectAccount(selected)
  useEffect(() => {
    rememberAccount()
    followAccount(selected?.uuid ?? '', session.value?.now)
  }, [selected?.uuid])
  const mayEnter = session.value?.operator === 'operator' && named !== null && !found
  useEffect(() => {
    if (mayEnter) void enterAccount(named).then((isEntered) => isEntered || setRefused(named))
  }, [mayEnter, named])
  if (mayEnter && refused !== named) return 'entering'
  return named && !found ? 'unknown' : 'known'
}

const everywhere: readonly Shortcut[] = [
  { keys: 'Ctrl k', text: () => words.keys.palette, act: openPalette, scope: 'everywhere' },
  {
    keys: '?',
    text: () => words.keys.help,
    act: openHelp,
    scope: 'everywhere',
  },
  {
    keys: 'Ctrl .',
    text: () => words.keys.density,
    act: () => chooseDensity(density.value === 'compact' ? 'comfortable' : 'compact'),
    scope: 'everywhere',
  },
  {
    keys: 'Ctrl Shift l',
    text: () => words.keys.theme,
    act: () => chooseTheme(themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'),
    scope: 'everywhere',
  },
]

const Inside = () => {
  const { path, route: go } = useLocation()
  const found = useAccountOf(path)
  const lacksFactor = account.value?.second_factor_missing === true
  const isPhone = path === paths.phone()
  const isStart =
    isPhone ||
    path === paths.home() ||
    path === `/console/${account.value?.uuid}` ||
    (lacksFactor && accountOfPath(path) !== null)
  const hasStart = account.value !== null || isOperator()
  useEffect(() => {
    if (!isStart || !hasStart) return
    let isCurrent = true
    void startPage().then((to) => {
      if (!isCurrent) return
      go(to, true)
      if (isPhone) callNumber()
    })
    return () => {
      isCurrent = false
    }
  }, [isStart, isPhone, hasStart, account.value?.uuid, lacksFactor])
  const jumps = sections.flatMap(({ key, title, pages }) => {
    const first = pages.find((page) => page.isListed && mayOpen(page))
    if (!key || !first) return []
    const act = () => go(first.path())
    return [{ keys: `g ${key}`, text: () => words.keys.goTo(title()), act, scope: 'everywhere' as const }]
  })
  useShortcuts([...everywhere, ...jumps], [account.value?.uuid])
  useEffect(() => onNotificationClick((url) => go(url)), [])
  const isLost = found === 'unknown' || (isStart && !hasStart)
  if (isStart && hasStart) return <WaitingFrame />
  return (
    <Frame>
      {isLost ? (
        <NoAccount isUnknown={found === 'unknown'} />
      ) : found === 'entering' ? null : (
        <Pages key={account.value?.uuid} />
      )}
      {isPaletteOpen.value && <Palette />}
      {isHelpOpen.value && <Help />}
    </Frame>
  )
}

const Root = () => {
  const { path, url, route: go } = useLocation()
  const Page = outside.get(path)
  const isOutside = session.value === null && Page === undefined
  useEffect(() => {
    if (isOutside) go(paths.signIn({}, path === paths.home() ? {} : { to: url }), true)
  }, [isOutside])
  if (Page)
    return (
      <main class="alone" id="content">
        <Page />
      </main>
    )
  if (!session.value) return null
  return (
    <>
      <Inside />
      <Recovery />
      <ToastHost />
    </>
  )
}

/** Links to other places than the console are left to the browser. */
const scope = /^\/console/

/**
 * Is drawn once. LocationProvider keeps the child of its first drawing, with what was below it then. A child that draws
 * itself again is not replaced there: every page that was shown would stay in memory.
 */
const Still = () => <Root />

export const App = () => (
  <LocationProvider scope={scope}>
    <Still />
  </LocationProvider>
)
