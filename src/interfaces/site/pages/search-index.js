// The search of the documentation: which entries a query finds, in which order. pages/search.js shows them; the tests use
// this file as it is.

/** Weights of the parts of an entry. `page` is the title of the page of a section. */
const boost = { title: 5, page: 3, words: 2, text: 1 }

/** Sections that explain come before operations of the same words. */
const groups = { Start: 1.6, Guides: 2, Reference: 1.8, Operate: 1, API: 0.9, Events: 0.7, Errors: 0.7 }

const options = {
  boost,
  prefix: (term) => term.length > 1,
  fuzzy: (term) => (term.length > 4 ? 0.2 : false),
  boostDocument: (_id, _term, { group }) => groups[group] ?? 0.6,
}

/** The part of a text around the first of some words, at most 160 characters. */
const fragmentOf = (text, terms) => {
  const lower = text.toLowerCase()
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0)
  const place = places.length > 0 ? Math.min(...places) : 0
  const start = place < 60 ? 0 : text.lastIndexOf(' ', place - 50) + 1
  const end = text.length - start <= 160 ? text.length : text.lastIndexOf(' ', start + 160)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}

/** An error code, an event, or the method and path of an operation: the entry with this name comes first. */
const namedBy =
  (query) =>
  ({ title, text }) =>
    title.toLowerCase() === query || title.toLowerCase() === `${query}s` || text.toLowerCase().startsWith(`${query}.`)

/**
 * Returns a function that finds at most 12 entries for a query, the best first.
 * @param MiniSearch class of the package
 * @param entries rows of search.json: address, title, page, group, further words, text
 */
export const makeSearch = (MiniSearch, entries) => {
  const index = new MiniSearch({
    fields: ['title', 'page', 'words', 'text'],
    storeFields: ['url', 'title', 'page', 'group', 'text'],
  })
  index.addAll(
    entries.map(([url, title, page, group, words, text], id) => ({ id, url, title, page, group, words, text })),
  )
  return (query) => {
    const all = index.search(query, { ...options, combineWith: 'AND' })
    const found = all.length > 0 ? all : index.search(query, options)
    const isNamed = namedBy(query.trim().toLowerCase())
    const [named, others] = [found.filter(isNamed), found.filter((one) => !isNamed(one))]
    return [...named, ...others].slice(0, 12).map(({ url, title, page, group, text, terms }) => ({
      ...{ url, title, page, group },
      fragment: fragmentOf(text, terms),
    }))
  }
}
