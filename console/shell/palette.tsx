import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { account, session, signOut } from '../api/session.ts'
import type { IconName } from '../icons/names.ts'
import { isComposing } from '../parts/composing.ts'
import { Icon } from '../parts/icon.tsx'
import { mayOpen } from '../router.tsx'
import { sections } from '../sections.ts'
import { words } from '../words/en/shell.ts'
import { chooseDensity, chooseTheme, density, theme, themes } from './choices.ts'
import { useFound } from './found-entries.ts'
import { isPaletteOpen, openHelp } from './open-palette.ts'

// The command palette: pages, acts, accounts. It is a combobox with a list (ARIA APG), in a dialog.

type Entry = {
  readonly id: string
  readonly group: string
  readonly text: string
  readonly detail?: string
  readonly icon: IconName
  readonly act: (go: (to: string) => void) => void
}

const pageEntries = (): Entry[] =>
  sections
    .filter(({ place }) => place !== 'account' || account.value)
    .flatMap(({ name, title, icon, pages }) =>
      pages
        .filter((page) => page.isListed && mayOpen(page))
        .map((page) => ({
          id: `page-${name}-${page.path.pattern}`,
          group: words.palette.pages,
          text: page.title(),
          detail: title(),
          icon,
          act: (go: (to: string) => void) => go(page.path()),
        })),
    )

const actEntries = (): Entry[] => [
  ...themes
    .filter((choice) => choice !== theme.value)
    .map((choice) => ({
      id: `theme-${choice}`,
      group: words.palette.acts,
      text: `${words.theme.title}: ${words.theme[choice]}`,
      icon: 'sun' as const,
      act: () => chooseTheme(choice),
    })),
  {
    id: 'density',
    group: words.palette.acts,
    text: `${words.density.title}: ${words.density[density.value === 'compact' ? 'comfortable' : 'compact']}`,
    icon: 'list',
    act: () => chooseDensity(density.value === 'compact' ? 'comfortable' : 'compact'),
  },
  {
    id: 'shortcuts',
    group: words.palette.acts,
    text: words.keys.open,
    icon: 'keyboard',
    act: openHelp,
  },
  {
    id: 'sign-out',
    group: words.palette.acts,
    text: words.signOut,
    icon: 'log-out',
    act: () => void signOut(),
  },
]

const accountEntries = (): Entry[] =>
  (session.value?.accounts ?? [])
    .filter(({ uuid }) => uuid !== account.value?.uuid)
    .map(({ uuid, name }) => ({
      id: `account-${uuid}`,
      group: words.palette.accounts,
      text: name,
      icon: 'users' as const,
      act: (go: (to: string) => void) => go(`/console/${uuid}`),
    }))

const fold = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** True if every word of the search begins a word of the entry. */
const fits = ({ text, detail = '' }: Entry, search: string): boolean => {
  const parts = fold(`${text} ${detail}`).split(/[^\p{L}\p{N}]+/u)
  return fold(search)
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => parts.some((part) => part.startsWith(word)))
}

type ListProps = {
  readonly entries: readonly Entry[]
  readonly current: Entry | undefined
  readonly onRun: (entry: Entry) => void
}

const EntryList = ({ entries, current, onRun }: ListProps) => (
  <div id="palette-list" role="listbox" aria-label={words.palette.title} class="palette-list">
    {[...Map.groupBy(entries, ({ group }) => group)].map(([group, members]) => (
      // biome-ignore lint/a11y/useSemanticElements: a group of options has no element of its own.
      <div key={group} role="group" aria-label={group}>
        <div class="palette-group" aria-hidden="true">
          {group}
        </div>
        {members.map((entry) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles Enter for the active option.
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field (aria-activedescendant).
          <div
            key={entry.id}
            id={entry.id}
            role="option"
            aria-selected={entry === current ? 'true' : 'false'}
            class="palette-entry"
            onClick={() => onRun(entry)}
          >
            <Icon name={entry.icon} />
            <span class="cut" dir="auto">
              {entry.text}
            </span>
            {entry.detail && <span class="soft cut">{entry.detail}</span>}
          </div>
        ))}
      </div>
    ))}
  </div>
)

export const Palette = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  const { route: go } = useLocation()
  const [search, setSearch] = useState('')
  const [chosen, setChosen] = useState(0)
  const found = useFound(search).map(({ href, ...entry }): Entry => ({ ...entry, act: () => go(href) }))
  const known = [...pageEntries(), ...actEntries(), ...accountEntries()].filter((entry) => fits(entry, search))
  const entries = [...known, ...found]
  const current = entries[Math.min(chosen, entries.length - 1)]
  useLayoutEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    if (current) document.getElementById(current.id)?.scrollIntoView({ block: 'nearest' })
  }, [current?.id])
  const leave = () => {
    isPaletteOpen.value = false
  }
  // The dialog gives the focus back at once, but its event comes later: a key that opens the palette may be first.
  const close = () => {
    dialog.current?.close()
    leave()
  }
  const run = (entry: Entry) => {
    close()
    entry.act(go)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) {
      event.preventDefault()
      setChosen((Math.min(chosen, entries.length - 1) + step + entries.length) % Math.max(1, entries.length))
    } else if (event.key === 'Enter' && current && !isComposing(event)) {
      event.preventDefault()
      run(current)
    }
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog; the click is on the ground behind it.
    <dialog
      ref={dialog}
      class="palette"
      aria-label={words.palette.title}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClose={({ target }) => target === dialog.current && leave()}
      onClick={({ target }) => target === dialog.current && close()}
    >
      <div class="palette-search">
        <Icon name="search" />
        <input
          autofocus
          type="text"
          role="combobox"
          aria-label={words.palette.label}
          aria-expanded="true"
          aria-controls="palette-list"
          aria-autocomplete="list"
          aria-activedescendant={current?.id}
          placeholder={words.palette.label}
          autocomplete="off"
          spellcheck={false}
          value={search}
          onInput={({ currentTarget }) => {
            setSearch(currentTarget.value)
            setChosen(0)
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <p class="for-readers" role="status">
        {words.palette.results(entries.length)}
      </p>
      <EntryList entries={entries} current={current} onRun={run} />
      {entries.length === 0 && <p class="palette-none">{words.palette.none}</p>}
    </dialog>
  )
}
