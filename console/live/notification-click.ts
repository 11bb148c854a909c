/** True for an address that a notification may open: a page of the console. */
export const isConsolePath = (url: unknown): url is string => typeof url === 'string' && /^\/console(?:\/|$)/.test(url)

/** Calls back with the address of a notification that was clicked. Returns the function that ends it. */
export const onNotificationClick = (open: (url: string) => void): (() => void) => {
  const listener = ({ data }: MessageEvent) => {
    const { type, url } = Object(data)
    if (type === 'open' && isConsolePath(url)) open(url)
  }
  const { serviceWorker } = navigator
  serviceWorker?.addEventListener('message', listener)
  return () => serviceWorker?.removeEventListener('message', listener)
}
