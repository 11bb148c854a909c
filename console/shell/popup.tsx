import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'

type PopupProps = {
  readonly id: string
  readonly button: ComponentChildren
  /** Completes the name of the button for screen readers. */
  readonly label?: string
  readonly class: string
  /** True if one of the links leads to the page that is shown. */
  readonly isCurrent?: boolean
  /** Default: below, at the start of the button. */
  readonly place?: 'above' | 'end'
  readonly children: ComponentChildren
}

/** A button that shows links: a disclosure, so Tab moves through it, and Escape closes it. Its content is there while it is
 *  open. */
export const Popup = ({ id, button, label, class: look, isCurrent, place, children }: PopupProps) => {
  const box = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  /** A link inside leads away, so the box closes. */
  const onClick = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest('a')) box.current?.hidePopover()
  }
  return (
    <>
      <button
        type="button"
        id={`${id}-button`}
        class={look}
        popovertarget={id}
        aria-current={isCurrent ? 'true' : undefined}
      >
        {button}
        {label && <span class="for-readers">{label}</span>}
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click. */}
      {/* biome-ignore lint/a11y/useSemanticElements: the links are no fields of a form. */}
      <div
        ref={box}
        id={id}
        popover="auto"
        class={`popup ${place ? `popup-${place}` : ''}`}
        role="group"
        aria-labelledby={`${id}-button`}
        // Filled before it opens, and emptied after it closed: the browser gives the focus back from inside only.
        onBeforeToggle={({ newState }) => newState === 'open' && setOpen(true)}
        onToggle={({ newState }) => setOpen(newState === 'open')}
        onClick={onClick}
      >
        {isOpen && children}
      </div>
    </>
  )
}
