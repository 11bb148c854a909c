/** The one element of this id. */
export const by = (id) => document.getElementById(id)

export const show = (id, isShown) => {
  by(id).hidden = !isShown
}

export const say = (id, text) => {
  by(id).textContent = text
}

/** The number's field, where there are keys of one's own: elsewhere it would bring up a keyboard over the page. */
export const focusNumber = () => {
  if (matchMedia('(pointer: fine)').matches) by('number').focus()
}

/** Says what went wrong, and what to do where the page knows. */
export const notifyOf = ({ code, message }) =>
  notify(code === 'MEDIA_DENIED' ? `${message}: allow it beside the address of this page, then try again.` : message)

/** Says what the person before the page should know; nothing with null. */
export const notify = (text) => {
  say('notice', text ?? '')
  show('notice', text !== null)
}

/** `1:05`, `1:02:03`. @param seconds whole ones */
export const clock = (seconds) => {
  const two = (value) => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}
