import { useEffect, useState } from 'preact/hooks'

/**
 * Reads the token of the link from the fragment, and takes it out of the address: no history and no log keeps it.
 * @returns the token, and what sets it from a link that a person pastes
 */
export const useToken = (): readonly [token: string, paste: (link: string) => void] => {
  const [token, setToken] = useState(() => decodeURIComponent(location.hash.slice(1)))
  useEffect(() => {
    const read = () => {
      if (!location.hash) return
      setToken(decodeURIComponent(location.hash.slice(1)))
      history.replaceState(history.state, '', location.pathname + location.search)
    }
    read()
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return [token, (link) => setToken(link.trim().replace(/^.*#/, ''))]
}
