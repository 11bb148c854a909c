// The search field of every page: a combobox (WAI-ARIA APG) over the entries of search.json, which are loaded at the first
// focus.

import { makeSearch } from './search-index.js'

const field = document.querySelector('.search')
const box = field.querySelector('input')
const list = field.querySelector('[role=listbox]')
const status = field.querySelector('[role=status]')

let search = null
const load = () => {
  search ??= Promise.all([
    import('/docs/assets/minisearch.js'),
    fetch('/docs/search.json').then((response) => response.json()),
  ]).then(([{ default: MiniSearch }, entries]) => makeSearch(MiniSearch, entries))
  // A failure is repeated at the next letter.
  search.catch(() => {
    search = null
  })
  return search
}

let active = -1
const options = () => [...list.children]

const activate = (place) => {
  const all = options()
  active = all.length === 0 ? -1 : (place + all.length) % all.length
  for (const [n, option] of all.entries()) option.setAttribute('aria-selected', String(n === active))
  const option = all[active]
  if (option) box.setAttribute('aria-activedescendant', option.id)
  else box.removeAttribute('aria-activedescendant')
  option?.scrollIntoView({ block: 'nearest' })
}

const close = () => {
  list.hidden = true
  list.replaceChildren()
  status.textContent = ''
  box.setAttribute('aria-expanded', 'false')
  activate(-1)
}

const part = (name, text) => {
  const element = document.createElement('span')
  element.className = name
  element.textContent = text
  return element
}

const optionOf = ({ url, title, page, group, fragment }, n) => {
  const link = document.createElement('a')
  link.href = url
  link.id = `found-${n}`
  link.tabIndex = -1
  link.setAttribute('role', 'option')
  link.append(
    part('title', title),
    part('group', page === title ? group : `${group} · ${page}`),
    part('fragment', fragment),
  )
  link.addEventListener('click', close)
  return link
}

const show = (found) => {
  list.replaceChildren(...found.map(optionOf))
  list.hidden = found.length === 0
  box.setAttribute('aria-expanded', String(found.length > 0))
  status.textContent = found.length === 0 ? 'Nothing found' : `${found.length} results`
  activate(found.length > 0 ? 0 : -1)
}

const update = async () => {
  const query = box.value.trim()
  if (query === '') return close()
  const find = await load()
  // A letter may have come meanwhile.
  if (query === box.value.trim()) show(find(query))
}

box.addEventListener('focus', () => void load())
box.addEventListener('input', () => void update())
box.addEventListener('keydown', async (event) => {
  const { key } = event
  if (key === 'Escape') {
    box.value = ''
    close()
    box.blur()
  } else if (key === 'ArrowDown' || key === 'ArrowUp') {
    if (list.hidden) await update()
    else activate(active + (key === 'ArrowDown' ? 1 : -1))
  } else if (key === 'Enter') {
    if (list.hidden) await update()
    options()[active]?.click()
  } else return
  event.preventDefault()
})
addEventListener('keydown', (event) => {
  const isTyping = event.target.matches('input, textarea, select, [contenteditable]')
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return
  event.preventDefault()
  box.focus()
  box.select()
})
addEventListener('click', ({ target }) => {
  if (!field.contains(target)) close()
})
field.addEventListener('focusout', ({ relatedTarget }) => {
  if (relatedTarget !== null && !field.contains(relatedTarget)) close()
})
field.hidden = false
