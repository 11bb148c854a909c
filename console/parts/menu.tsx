import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { IconName } from '../icons/names.ts'
import { words } from '../words/en/parts.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Icon } from './icon.tsx'

export type MenuItem = {
  readonly text: string
  readonly icon?: IconName
  readonly onSelect?: () => void
  readonly href?: string
  readonly danger?: boolean
  /** Why it is not possible now. */
  readonly reason?: string | undefined
  /** A line above the item. */
  readonly divided?: boolean
  /** A mark before the item: one of several. */
  readonly checked?: boolean
  readonly hint?: string
}

export type MenuProps = {
  readonly items: readonly MenuItem[]
  /** The name of the button. Default: Actions. */
  readonly label?: string
  readonly icon?: IconName
  readonly kind?: ButtonProps['kind']
  readonly size?: ButtonProps['size']
  /** Content of the button in the place of the icon. */
  readonly children?: ComponentChildren
  readonly wide?: boolean
}

/** The open list of a menu, and its keys. */
const useMenuList = () => {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const typed = useRef({ text: '', at: 0 })

  const rows = (): HTMLElement[] => [...(list.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])]
  const focusOn = (index: number) => {
    const all = rows()
    all.at(index % (all.length || 1))?.focus()
  }
  const first = useRef(0)
  const open = (index: number) => {
    first.current = index
    setOpen(true)
  }
  // The items are there only while the menu is open: a thread has a dozen menus.
  useLayoutEffect(() => {
    if (!isOpen) return
    list.current?.showPopover(button.current ? { source: button.current } : {})
    focusOn(first.current)
  }, [isOpen])
  const close = () => {
    list.current?.hidePopover()
    setOpen(false)
    button.current?.focus()
  }

  /** Letters that follow within half a second make one word. */
  const find = (letter: string, now: number) => {
    const { text, at } = typed.current
    typed.current = { text: now - at < 500 ? text + letter : letter, at: now }
    const all = rows()
    const start = all.indexOf(document.activeElement as HTMLElement)
    const isFirst = typed.current.text.length === 1
    const order = all.map((_, offset) => all[(start + offset + (isFirst ? 1 : 0)) % all.length])
    order.find((row) => row?.textContent?.trim().toLowerCase().startsWith(typed.current.text))?.focus()
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const index = rows().indexOf(document.activeElement as HTMLElement)
    if (event.key === 'ArrowDown') focusOn(index + 1)
    else if (event.key === 'ArrowUp') focusOn(index - 1)
    else if (event.key === 'Home') focusOn(0)
    else if (event.key === 'End') focusOn(-1)
    else if (event.key === 'Escape') close()
    else if (event.key === 'Tab') {
      close()
      return
    } else if (event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey)
      find(event.key.toLowerCase(), event.timeStamp)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return { isOpen, setOpen, button, list, open, close, onKeyDown }
}

/** A button with a menu (ARIA APG, menu button): arrows, Home, End, the first letter, Escape, Tab. */
export const Menu = ({
  items,
  label = words.actions,
  icon = 'ellipsis',
  kind = 'quiet',
  size,
  children,
  wide,
}: MenuProps) => {
  const id = useId()
  const { isOpen, setOpen, button, list, open, close, onKeyDown } = useMenuList()

  const select = (item: MenuItem, event: Event) => {
    if (item.reason !== undefined) return event.preventDefault()
    close()
    item.onSelect?.()
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the button inside.
    <span
      class={wide ? 'menu-holder wide' : 'menu-holder'}
      onKeyDown={(event) => {
        if (isOpen || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return
        event.preventDefault()
        open(event.key === 'ArrowDown' ? 0 : -1)
      }}
    >
      <Button
        buttonRef={button}
        kind={kind}
        {...(size === undefined ? {} : { size })}
        icon={children === undefined ? icon : undefined}
        iconEnd={children === undefined ? undefined : 'chevron-down'}
        iconOnly={children === undefined}
        wide={wide ?? false}
        haspopup="menu"
        expanded={isOpen}
        popovertarget={id}
        onClick={(event) => {
          event.preventDefault()
          if (isOpen) close()
          else open(0)
        }}
      >
        {children ?? label}
      </Button>
      <div
        ref={list}
        id={id}
        role="menu"
        tabIndex={-1}
        aria-label={label}
        popover="auto"
        class="menu"
        onToggle={({ newState }) => setOpen(newState === 'open')}
        onKeyDown={onKeyDown}
      >
        {isOpen && items.map((item) => <MenuRow key={item.text} item={item} onSelect={select} />)}
      </div>
    </span>
  )
}

const MenuRow = ({ item, onSelect }: { item: MenuItem; onSelect: (item: MenuItem, event: Event) => void }) => {
  const props = {
    class: `menu-item ${item.danger ? 'is-danger' : ''} ${item.divided ? 'is-divided' : ''}`,
    tabIndex: -1,
    'aria-disabled': item.reason === undefined ? undefined : ('true' as const),
    onClick: (event: Event) => onSelect(item, event),
    onPointerMove: ({ currentTarget, pointerType }: PointerEvent) =>
      pointerType === 'mouse' && currentTarget instanceof HTMLElement && currentTarget.focus(),
  }
  const content = (
    <>
      {item.checked !== undefined ? (
        <Icon name="check" class={item.checked ? '' : 'is-invisible'} />
      ) : (
        item.icon && <Icon name={item.icon} />
      )}
      <span class="menu-text">
        <span dir="auto">{item.text}</span>
        {(item.reason ?? item.hint) && <span class="menu-hint">{item.reason ?? item.hint}</span>}
      </span>
    </>
  )
  if (item.href !== undefined && item.reason === undefined)
    return (
      <a role="menuitem" href={item.href} {...props}>
        {content}
      </a>
    )
  return item.checked === undefined ? (
    <button type="button" role="menuitem" {...props}>
      {content}
    </button>
  ) : (
    <button type="button" role="menuitemradio" aria-checked={item.checked} {...props}>
      {content}
    </button>
  )
}
