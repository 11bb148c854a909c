// Opens the entry of the address, writes the address of an opened entry, and filters. The page works without this.

const entries = [...document.querySelectorAll('details.entry')].map((details) => ({
  details,
  text: details.querySelector('summary').textContent.toLowerCase() + details.querySelector('.body').id.toLowerCase(),
}))

const decoded = (text) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Anchors are spelled as in Swagger UI: spaces of tags are `%20`, in older links `_`. */
const targetOf = (hash) =>
  [hash, decoded(hash), decoded(hash).replaceAll(' ', '%20'), hash.replaceAll('_', '%20')]
    .map((id) => document.getElementById(id))
    .find((element) => element !== null)

const openTarget = () => {
  const target = targetOf(location.hash.slice(1))
  const details = target?.closest('details')
  if (details) {
    details.hidden = false
    details.closest('section').hidden = false
    details.open = true
  }
  ;(details ?? target)?.scrollIntoView()
}

for (const { details } of entries)
  details.querySelector('summary').addEventListener('click', () => {
    if (!details.open) history.replaceState(null, '', `#${details.querySelector('.body').id}`)
  })

const form = document.getElementById('filter')
const box = form.querySelector('input')
const matches = document.getElementById('matches')
const sections = [...document.querySelectorAll('section.group')]

const filter = () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  for (const { details, text } of entries) {
    details.hidden = !words.every((word) => text.includes(word))
    if (!details.hidden) count++
  }
  for (const section of sections) section.hidden = section.querySelector('details.entry:not([hidden])') === null
  matches.textContent = words.length > 0 ? `${count} of ${entries.length}` : ''
}

box.addEventListener('input', filter)
form.addEventListener('submit', (event) => event.preventDefault())
document.getElementById('open-all').addEventListener('click', ({ currentTarget: button }) => {
  const open = button.textContent === 'Open all'
  for (const { details } of entries) if (!details.hidden) details.open = open
  button.textContent = open ? 'Close all' : 'Open all'
})
form.hidden = false
addEventListener('hashchange', openTarget)
// A link to the present address changes nothing, so the browser reports nothing.
addEventListener('click', ({ target }) => {
  const link = target.closest('a[href^="#"]')
  if (link && link.hash === location.hash) openTarget()
})
openTarget()
