import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { account, isOperator, ownName, session, signOut } from '../api/session.ts'
import { Icon } from '../parts/icon.tsx'
import { paths } from '../paths.ts'
import { mayOpen } from '../router.tsx'
import { sections } from '../sections.ts'
import { words } from '../words/en/shell.ts'
import { Announcer } from './announcer.tsx'
import { chooseTheme, theme, themes } from './choices.ts'
import { openPalette } from './open-palette.ts'
import { callNumber } from './phone.ts'
import { Phone } from './phone-host.tsx'
import { Popup } from './popup.tsx'
import type { PageRoute, Section } from './section.ts'
import { LineBanner, VisitBanner } from './shell-banner.tsx'
import { capsOf } from './shell-keys.ts'

const listed = ({ pages }: Section): readonly PageRoute[] => pages.filter((page) => page.isListed && mayOpen(page))

/** Sections with at least one page that the session may open, with the address of the first one. */
const useEntries = () => {
  const { path } = useLocation()
  const inOperator = path.startsWith('/console/operator')
  return sections
    .filter(({ place }) => (inOperator ? place === 'operator' : place === 'account' && account.value !== null))
    .flatMap((section) => {
      const [first] = listed(section)
      return first ? [{ section, href: first.path(), isCurrent: isWithin(section, path) }] : []
    })
}

const isWithin = ({ pages }: Section, path: string): boolean => pages.some((page) => matches(page, path))

/** True if an address belongs to a page: its pattern, with any parameters. */
const matches = ({ path: { pattern } }: PageRoute, path: string): boolean => {
  const [patternParts, pathParts] = [pattern.split('/'), path.split('/')]
  return (
    pathParts.length <= patternParts.length &&
    patternParts.every((part, i) => (part.startsWith(':') ? pathParts[i] || part.endsWith('?') : part === pathParts[i]))
  )
}

const NavLink = ({ section, href, isCurrent }: { section: Section; href: string; isCurrent: boolean }) => (
  <a class="nav-link" href={href} aria-current={isCurrent ? 'true' : undefined}>
    <Icon name={section.icon} />
    <span>{section.title()}</span>
  </a>
)

const Navigation = () => {
  const entries = useEntries()
  return (
    <nav class="frame-nav" aria-label={words.navigation}>
      <ul>
        {entries.map((entry) => (
          <li key={entry.section.name}>
            <NavLink {...entry} />
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Below 720 px: the first four sections at the bottom, the others behind one button. */
const BottomNavigation = () => {
  const entries = useEntries()
  const [first, rest] = entries.length > 5 ? [entries.slice(0, 4), entries.slice(4)] : [entries, []]
  return (
    <nav class="frame-bottom" aria-label={words.navigation}>
      <ul>
        {first.map((entry) => (
          <li key={entry.section.name}>
            <NavLink {...entry} />
          </li>
        ))}
        {rest.length > 0 && (
          <li>
            <Popup
              id="more-sections"
              place="above"
              class="nav-link"
              isCurrent={rest.some((entry) => entry.isCurrent)}
              button={
                <>
                  <Icon name="menu" />
                  <span>{words.more}</span>
                </>
              }
            >
              {rest.map((entry) => (
                <NavLink key={entry.section.name} {...entry} />
              ))}
            </Popup>
          </li>
        )}
      </ul>
    </nav>
  )
}

/** Links to the pages of the section. */
const SectionNavigation = () => {
  const { path } = useLocation()
  const section = sections.find((each) => isWithin(each, path))
  const current = useRef<HTMLAnchorElement>(null)
  useEffect(() => current.current?.scrollIntoView({ block: 'nearest', inline: 'center' }), [path])
  const pages = section ? listed(section) : []
  if (!section || pages.length < 2) return null
  const open = pages.findLast((page) => path === page.path() || path.startsWith(`${page.path()}/`)) ?? pages[0]
  return (
    <nav class="section-nav" aria-label={section.title()}>
      <ul>
        {pages.map((page) => (
          <li key={page.path.pattern}>
            <a
              href={page.path()}
              ref={page === open ? current : null}
              aria-current={page.path() === path ? 'page' : page === open ? 'true' : undefined}
            >
              {page.title()}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const AccountSwitch = () => {
  const accounts = session.value?.accounts ?? []
  const name = account.value?.name ?? words.product
  if (accounts.length < 2 && !isOperator())
    return (
      <span class="account-name cut" dir="auto">
        {name}
      </span>
    )
  return (
    <Popup
      id="accounts"
      class="account-switch"
      label={words.switchAccount}
      button={
        <>
          <span class="cut" dir="auto">
            {name}
          </span>
          <Icon name="chevrons-up-down" />
        </>
      }
    >
      <p class="popup-title">{words.accounts}</p>
      {accounts.map(({ uuid, name }) => (
        <a
          key={uuid}
          class="popup-item"
          href={`/console/${uuid}`}
          aria-current={uuid === account.value?.uuid ? 'true' : undefined}
        >
          <span class="cut" dir="auto">
            {name}
          </span>
          {uuid === account.value?.uuid && <Icon name="check" />}
        </a>
      ))}
      {isOperator() && sections.some(({ place }) => place === 'operator') && (
        <a class="popup-item" href="/console/operator">
          {words.sections.operator}
        </a>
      )}
    </Popup>
  )
}

const PersonMenu = () => {
  const { person, kind } = session.value ?? {}
  const name = ownName.value ?? (kind === 'operator-key' ? words.operatorKeyPerson : words.keyPerson)
  return (
    <Popup
      id="person"
      class="person-button"
      place="end"
      label={words.person(name)}
      button={
        <span class="person-sign" aria-hidden="true">
          {person ? initials(name) : <Icon name="key-round" />}
        </span>
      }
    >
      <p class="popup-title">
        <span class="cut" dir="auto">
          {name}
        </span>
        {person && <span class="soft cut">{person.email}</span>}
      </p>
      {person && (
        <a class="popup-item" href={paths.profile()}>
          <Icon name="user" /> {words.profile}
        </a>
      )}
      <a class="popup-item" href={paths.sessions()}>
        <Icon name="monitor" /> {words.sessions}
      </a>
      <fieldset class="popup-choice">
        <legend>{words.theme.title}</legend>
        {themes.map((choice) => (
          <label key={choice}>
            <input
              type="radio"
              name="theme"
              value={choice}
              checked={theme.value === choice}
              onChange={() => chooseTheme(choice)}
            />
            <span>{words.theme[choice]}</span>
          </label>
        ))}
      </fieldset>
      <a class="popup-item" href="/docs" target="_blank" rel="noreferrer">
        <Icon name="book-open" /> {words.docs}
      </a>
      <button type="button" class="popup-item" onClick={() => void signOut()}>
        <Icon name="log-out" /> {words.signOut}
      </button>
    </Popup>
  )
}

const initials = (name: string): string =>
  name
    .split(/\s+/)
    .map((part) => [...part][0] ?? '')
    .filter((_, i, all) => i === 0 || i === all.length - 1)
    .join('')
    .toLocaleUpperCase()

const skip = (event: Event): void => {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

/** The lines below every page. Panes that fill the window end above it: by `--foot`. */
const Foot = () => {
  const foot = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const { style } = document.documentElement
    const observer = new ResizeObserver(() => style.setProperty('--foot', `${foot.current?.offsetHeight ?? 0}px`))
    if (foot.current) observer.observe(foot.current)
    return () => {
      observer.disconnect()
      style.removeProperty('--foot')
    }
  }, [])
  return (
    <div ref={foot} class="frame-foot">
      <LineBanner />
      <Phone />
      <BottomNavigation />
    </div>
  )
}

/** The place of the frame until the first page is known: as in index.html. */
export const WaitingFrame = () => (
  <div class="frame frame-waiting" aria-hidden="true">
    <div class="frame-bar" />
    <div class="frame-nav" />
    <div class="frame-main" />
  </div>
)

/** Surrounds every page of a session. The inbox has a narrow navigation, from the first paint. */
export const Frame = ({ children }: { children: ComponentChildren }) => (
  <div class={useLocation().path.split('/')[3] === 'inbox' ? 'frame frame-inbox' : 'frame'}>
    {/* biome-ignore lint/a11y/useValidAnchor: a skip link; the handler keeps #content out of the address. */}
    <a class="skip" href="#content" onClick={skip}>
      {words.skip}
    </a>
    <header class="frame-bar">
      <a class="frame-home" href={paths.home()}>
        <span class="frame-mark" />
        <span class="for-readers">{words.home}</span>
      </a>
      <AccountSwitch />
      <button type="button" class="palette-button" onClick={openPalette} aria-keyshortcuts="Control+K">
        <Icon name="search" />
        <span class="palette-text">{words.search}</span>
        <kbd>{capsOf('Ctrl k').join(' ')}</kbd>
      </button>
      {session.value?.person && (
        <button type="button" class="person-button" onClick={() => callNumber()}>
          <Icon name="phone" label={words.phone} />
        </button>
      )}
      <PersonMenu />
    </header>
    <Navigation />
    <div class="frame-main">
      <VisitBanner />
      <SectionNavigation />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
    <Foot />
    <Announcer />
  </div>
)
