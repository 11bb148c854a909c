import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

export type TooltipProps = {
  /** Explains; a fact that is needed must be visible somewhere else. */
  readonly text: string
  /** Set when the child names the text in aria-describedby. */
  readonly id?: string
  readonly children: ComponentChildren
}

const hoverDelay = 350

/**
 * Shows a text while its child is hovered or focused (ARIA APG, tooltip). Escape hides it, and the pointer may move
 * onto it (WCAG 1.4.13). A manual popover is in the top layer and closes no menu.
 */
export const Tooltip = ({ text, id, children }: TooltipProps) => {
  const bubble = useRef<HTMLSpanElement>(null)
  const holder = useRef<HTMLSpanElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  // Focus may come from a popover that is being hidden: showing another one within that is an error. So timers.
  const hide = () => {
    clearTimeout(timer.current)
    if (bubble.current?.matches(':popover-open')) bubble.current.hidePopover()
  }
  const show = () => {
    const source = holder.current?.firstElementChild
    const open = bubble.current
    // A menu that is open says more than the name of its button.
    if (!open || open.matches(':popover-open') || source?.getAttribute('aria-expanded') === 'true') return
    open.showPopover(source instanceof HTMLElement ? { source } : {})
  }
  const showAfter = (delay: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(show, delay)
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the events of the control inside bubble up to this element.
    <span
      class="tooltip-holder"
      ref={holder}
      onPointerEnter={({ pointerType }) => pointerType !== 'touch' && showAfter(hoverDelay)}
      onPointerLeave={() => {
        clearTimeout(timer.current)
        timer.current = setTimeout(hide, 100)
      }}
      onPointerDown={hide}
      onFocusIn={({ target }) => target instanceof Element && target.matches(':focus-visible') && showAfter(0)}
      onFocusOut={hide}
      onKeyDown={({ key }) => key === 'Escape' && hide()}
    >
      {children}
      <span ref={bubble} id={id} role="tooltip" popover="manual" class="tooltip">
        {text}
      </span>
    </span>
  )
}
