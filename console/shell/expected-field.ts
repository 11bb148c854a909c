// Text that is typed before its field is there: a key opened a dialog or a box whose code is still loading.

/** Milliseconds after which keys have their usual meaning again, if no field came. */
const patience = 5_000

let typed = ''
/** The element that had the focus when a field was expected. */
let before: Element | null = null
let timer: ReturnType<typeof setTimeout> | undefined

/** True for elements in which people type. */
export const isField = (target: EventTarget | null): target is HTMLElement =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('input:not([type=checkbox], [type=radio], [type=button]), textarea, select'))

const onKey = (event: KeyboardEvent): void => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  // A window behind others moves the focus without an event.
  if (document.activeElement !== before && giveTo(document.activeElement)) return
  if (event.key === 'Escape') stop()
  else if (event.key === 'Backspace') typed = typed.slice(0, -1)
  else if (event.key.length === 1) typed += event.key
  event.preventDefault()
  event.stopImmediatePropagation()
}

/** Gives what was typed to a field. @returns whether the element is a field, or within a dialog: the wait is over */
const giveTo = (target: EventTarget | null): boolean => {
  if (!(target instanceof Element) || !(isField(target) || target.closest('dialog, [popover]'))) return false
  const text = typed
  stop()
  if (text === '' || !(target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement)) return true
  target.setRangeText(text, target.selectionStart ?? 0, target.selectionEnd ?? 0, 'end')
  target.dispatchEvent(new InputEvent('input', { bubbles: true, data: text, inputType: 'insertText' }))
  return true
}

const onFocus = ({ target }: FocusEvent): void => void giveTo(target)

const stop = (): void => {
  clearTimeout(timer)
  typed = ''
  removeEventListener('keydown', onKey, true)
  removeEventListener('focusin', onFocus)
  removeEventListener('pointerdown', stop, true)
}

/** Collects what is typed from now on, until a field or a dialog takes the focus: a field gets it. */
export const expectField = (): void => {
  stop()
  before = document.activeElement
  addEventListener('keydown', onKey, true)
  addEventListener('focusin', onFocus)
  addEventListener('pointerdown', stop, true)
  timer = setTimeout(stop, patience)
}
