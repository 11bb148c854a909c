/** The one element of this id. */
export const by = (id) => document.getElementById(id)

export const show = (id, isShown) => {
  by(id).hidden = !isShown
}

export const say = (id, text) => {
  by(id).textContent = text
}

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
