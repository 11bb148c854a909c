// Styles of sections that few people open first. The build makes a file of each, and the page waits for it.

const loading = new Map<string, Promise<void>>()

/** Loads the styles of a folder, once. A failure leaves the page without them. */
export const loadStyle = (folder: string): Promise<void> => {
  const href = STYLES[folder]
  if (href === undefined) return Promise.resolve()
  const known = loading.get(folder)
  if (known) return known
  const loaded = new Promise<void>((resolve) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = href
    link.onload = () => resolve()
    link.onerror = () => resolve()
    document.head.append(link)
  })
  loading.set(folder, loaded)
  return loaded
}
