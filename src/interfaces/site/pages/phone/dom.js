/** Returns the element with this id. */
export const by = (id) => document.getElementById(id)

export const show = (id, isShown) => {
  by(id).hidden = !isShown
}

export const say = (id, text) => {
  by(id).textContent = text
}

/**
 * Focuses the number's field where there is a physical keyboard: elsewhere an on-screen keyboard would cover the page.
 */
export const focusNumber = () => {
  if (matchMedia('(pointer: fine)').matches) by('number').focus()
}

/** Shows an error, and the remedy if the page knows one. */
export const notifyOf = ({ code, message }) =>
  notify(code === 'MEDIA_DENIED' ? `${message}: allow it next to the address of this page, then try again.` : message)

/**
 * Shows a notice to the user; null removes it.
 * @param act a button in the notice: its label and its action
 */
export const notify = (text, act = null) => {
  say('notice-text', text ?? '')
  say('notice-act', act?.label ?? '')
  by('notice-act').onclick = act?.run ?? null
  show('notice-act', act !== null)
  show('notice', text !== null)
}

/** Formats `1:05` or `1:02:03`. @param seconds whole seconds */
export const clock = (seconds) => {
  const two = (value) => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}
