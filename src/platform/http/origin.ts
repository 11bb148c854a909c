// Origins are compared as browsers serialise them (HTML, 7.1.1): lower case, without a default port, path or userinfo.

/** Returns the origin of a protocol and a host with an optional port; null for an invalid host. */
export const originOf = (protocol: 'http' | 'https', host: string): string | null => {
  const url = URL.parse(`${protocol}://${host}`)
  return url && url.href === `${url.origin}/` ? url.origin : null
}

/** Returns the URL of a serialised origin; null for anything else, also for `null`. */
export const parseOrigin = (text: string): URL | null => {
  const url = URL.parse(text)
  return url?.origin === text ? url : null
}
